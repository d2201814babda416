import { describeForm } from "./describe-form.ts";

describeForm("a REST API");
