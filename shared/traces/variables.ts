/** Base URL of the collector; `/v1/traces` and `/v1/metrics` are appended. */
export const endpointVariable = "OTEL_EXPORTER_OTLP_ENDPOINT";
/** Headers of requests to it, such as its token. */
export const headersVariable = "OTEL_EXPORTER_OTLP_HEADERS";
