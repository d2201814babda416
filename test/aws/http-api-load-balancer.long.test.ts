import { describeForm } from "./describe-form.ts";

describeForm("a load balancer");
