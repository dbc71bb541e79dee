import type { MetricSpec } from './spec.js'

/** Labels that the OpenTelemetry conventions know, by the name that Prometheus gives them. The others are sent as they are. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  cpu_mode: 'cpu.mode',
  error_type: 'error.type',
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  gen_ai_request_model: 'gen_ai.request.model',
  gen_ai_token_type: 'gen_ai.token.type',
  http_request_method: 'http.request.method',
  http_response_status_code: 'http.response.status_code',
  http_route: 'http.route',
  server_address: 'server.address',
  server_port: 'server.port',
}

/** Of the metrics of the conventions, the parts of the name that contain no dot although they have several words. */
const WORDS = ['time_to_first_token', 'time_per_output_token', 'gen_ai']

/** Units as UCUM writes them. Currencies have no unit there, so `_usd` stays in the name. */
const UNITS = { seconds: 's', bytes: 'By', usd: '{USD}', ratio: '1' } as const

export function attributeName(label: string): string {
  return ATTRIBUTES[label] ?? label
}

/**
 * The metric's name in OTLP: `http.server.request.duration`, `gateway.requests_in_flight`. What turns it into Prometheus' form
 * (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/) gives the name that `/metrics` has.
 */
export function otlpName({ name, unit }: MetricSpec): string {
  const bare = name.replace(/_total$/, '')
  const short = unit === undefined || unit === 'usd' ? bare : bare.replace(new RegExp(`_${unit}$`), '')
  if (short.startsWith('gateway_')) return `gateway.${short.slice('gateway_'.length)}`
  const known = WORDS.filter(word => short.includes(word))
  return known.reduce((text, word) => text.replace(word.replaceAll('_', '.'), word), short.replaceAll('_', '.'))
}

/** Undefined: it counts things. */
export function otlpUnit({ name, unit }: MetricSpec): string | undefined {
  if (unit !== undefined) return UNITS[unit]
  return name === 'gen_ai_client_token_usage' ? '{token}' : undefined
}
