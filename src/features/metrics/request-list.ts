import { type MetricSpec, SHORT_TIMES, TIMES } from './spec.js'

const TOKEN_TIMES = [
  ...[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 10],
]
/** Powers of four, as the convention has them. */
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)

const OPERATION = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model', 'upstream'] as const

/** What requests add to. Names follow the OpenTelemetry conventions where they have one; the others begin with `gateway_`. */
export const REQUEST_METRICS = {
  serverDuration: {
    name: 'http_server_request_duration_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: ['http_request_method', 'http_route', 'http_response_status_code'],
    help: 'Time from the arrival of a request to the end of its answer. Status 499: the client went away.',
    buckets: TIMES,
  },
  clientDuration: {
    name: 'http_client_request_duration_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: ['http_request_method', 'server_address', 'server_port', 'upstream', 'http_response_status_code'],
    help: 'Time from sending a request to an upstream to the end of its answer. No status: none was received.',
    buckets: TIMES,
  },
  operationDuration: {
    name: 'gen_ai_client_operation_duration_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: [...OPERATION, 'error_type'],
    help: 'Time of one attempt at an upstream, waiting for a connection included.',
    buckets: TIMES,
  },
  tokenUsage: {
    name: 'gen_ai_client_token_usage',
    kind: 'histogram',
    labels: [...OPERATION, 'gen_ai_token_type'],
    help: 'Tokens of one attempt, as the upstream reports them; gen_ai_token_type is input or output.',
    buckets: TOKENS,
  },
  firstToken: {
    name: 'gen_ai_server_time_to_first_token_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: [...OPERATION, 'stream'],
    help: 'Time from sending a request to an upstream to the first content of its answer. stream="false": whole answers.',
    buckets: TIMES,
  },
  outputToken: {
    name: 'gen_ai_server_time_per_output_token_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: OPERATION,
    help: 'Time for each output token after the first, of streams that ended well.',
    buckets: TOKEN_TIMES,
  },
  ownDuration: {
    name: 'gateway_own_duration_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: ['http_route'],
    help: "Time of a request less that of its attempts: the gateway's own, waiting for the client's body included. Not of WebSockets.",
    buckets: SHORT_TIMES,
  },
  queueDuration: {
    name: 'gateway_upstream_queue_duration_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: ['upstream'],
    help: 'Time that requests waited for a free place among the connections to the upstream; only of those that waited.',
    buckets: SHORT_TIMES,
  },
  connectDuration: {
    name: 'gateway_upstream_connect_duration_seconds',
    kind: 'histogram',
    unit: 'seconds',
    labels: ['upstream'],
    help: 'Time until a connection to the upstream was ready to send: near zero where one was open.',
    buckets: SHORT_TIMES,
  },
  requests: {
    name: 'gateway_requests_total',
    kind: 'counter',
    labels: ['http_route', 'model', 'outcome'],
    help: 'Requests by how they ended: ok, client_error, upstream_error, client_abort, gateway_error. One for each line of the log.',
  },
  attempts: {
    name: 'gateway_upstream_attempts_total',
    kind: 'counter',
    labels: ['upstream', 'model', 'outcome'],
    help: 'Attempts by how they ended: ok, skipped, cancelled, status, or the phase in which they failed (connect, first_byte, …).',
  },
  fallbacks: {
    name: 'gateway_fallbacks_total',
    kind: 'counter',
    labels: ['model', 'fallback'],
    help: 'Attempts at another model than the requested one, because that one failed.',
  },
  losses: {
    name: 'gateway_translation_losses_total',
    kind: 'counter',
    labels: ['http_route', 'model', 'member'],
    help: 'Members of requests that translation dropped, by their names in the protocol; those that no protocol has are other.',
  },
  errors: {
    name: 'gateway_errors_total',
    kind: 'counter',
    labels: ['error_type'],
    help: 'Requests that ended with an error, by its code.',
  },
  limitsMet: {
    name: 'gateway_limits_met_total',
    kind: 'counter',
    labels: ['limit'],
    help: 'Requests that a limit refused, by the limit: requests, tokens, budget, in_flight, body, overload, …',
  },
  bytesIn: {
    name: 'gateway_request_body_bytes_total',
    kind: 'counter',
    unit: 'bytes',
    labels: ['http_route'],
    help: "Bytes of clients' bodies.",
  },
  bytesOut: {
    name: 'gateway_response_body_bytes_total',
    kind: 'counter',
    unit: 'bytes',
    labels: ['http_route'],
    help: 'Bytes of the bodies of answers.',
  },
  cost: {
    name: 'gateway_cost_usd_total',
    kind: 'counter',
    unit: 'usd',
    labels: ['model', 'upstream'],
    help: 'What requests cost by the prices of the configuration, as in the ledger.',
  },
  tokens: {
    name: 'gateway_charged_tokens_total',
    kind: 'counter',
    labels: ['model', 'upstream'],
    help: 'Tokens as the ledger has them: estimated where an upstream reports none.',
  },
  groupRequests: {
    name: 'gateway_group_requests_total',
    kind: 'counter',
    labels: ['group'],
    help: 'Requests of the keys of a group, without its inner groups.',
  },
  groupTokens: {
    name: 'gateway_group_tokens_total',
    kind: 'counter',
    labels: ['group'],
    help: 'Tokens of the keys of a group, as in the ledger.',
  },
  groupCost: {
    name: 'gateway_group_cost_usd_total',
    kind: 'counter',
    unit: 'usd',
    labels: ['group'],
    help: 'What the keys of a group cost, as in the ledger.',
  },
  keyRequests: {
    name: 'gateway_key_requests_total',
    kind: 'counter',
    labels: ['key'],
    help: 'Requests of a key. Only with per_key.',
  },
  keyTokens: {
    name: 'gateway_key_tokens_total',
    kind: 'counter',
    labels: ['key'],
    help: 'Tokens of a key, as in the ledger. Only with per_key.',
  },
  keyCost: {
    name: 'gateway_key_cost_usd_total',
    kind: 'counter',
    unit: 'usd',
    labels: ['key'],
    help: 'What a key cost, as in the ledger. Only with per_key.',
  },
} as const satisfies Readonly<Record<string, MetricSpec>>
