/** Settings of one deployment. */
export interface OutboundCallsProps {
  /** Folder of the built functions, each in a folder of its own. */
  bundles: string;
  /** A named stage beside `$default`. It must not be `v1`, which the routes begin with. */
  stage?: string | undefined;
  /** Base path that a custom domain puts in front. */
  basePath?: string | undefined;
  /** True to enable the operator API, which lets the API's function read and write calls. */
  operator?: boolean | undefined;
  /** E-mail address that receives alarms. */
  alarmEmail?: string | undefined;
  /** Concurrent invocations of the dialer that are reserved to it: at least 6, if the account's quota has room. */
  dialerConcurrency?: number | undefined;
}
