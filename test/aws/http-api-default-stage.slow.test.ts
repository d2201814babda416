import { describeForm } from "./describe-form.ts";

describeForm("an HTTP API's default stage");
