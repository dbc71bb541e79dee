import type { Exchange } from '../../core/plan.js'

/** By protocol, what the convention calls an operation; the others are called as they are. */
const OPERATIONS: Readonly<Record<string, string>> = {
  messages: 'chat',
  responses: 'chat',
  generate: 'generate_content',
  completions: 'text_completion',
  vectors: 'embeddings',
}

/** `gen_ai.operation.name` of the OpenTelemetry conventions. */
export function operationOf(protocol: string): string {
  return OPERATIONS[protocol] ?? protocol
}

/** `gen_ai.provider.name`. */
export function providerOf({ upstream }: Exchange): string {
  return upstream.kind ?? upstream.name
}

/** `server.address` and `server.port`; both empty for the simulator inside. */
export function placeOf({ upstream }: Exchange): readonly [address: string, port: string] {
  return addressOf(upstream.origin)
}

/** Of `https://host:port`. */
export function addressOf(origin: string): readonly [address: string, port: string] {
  const { hostname, port, protocol } = new URL(origin)
  return [hostname, port === '' && hostname !== '' ? (protocol === 'https:' ? '443' : '80') : port]
}
