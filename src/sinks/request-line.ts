import { microText } from '../core/bound-text.js'
import type { CommonParts, GoodRequest, RequestEntry } from '../core/entry.js'
import type { Usage } from '../core/plan.js'

/**
 * The log line of a settled request, newline included. Written by hand because it is the one line that every request
 * pays for: a general serialiser costs as much as the rest of the accounting.
 */
export function requestLine(entry: RequestEntry, level: string, time: string): string {
  const { milliseconds, bytes, usage } = entry
  return (
    `{"level":"${level}","time":"${time}","msg":"request","id":"${entry.id}","trace":"${entry.trace}"` +
    `,"method":"${entry.method}"` +
    string('mirror_of', entry.copyOf) +
    string('route', entry.route) +
    string('path', entry.path) +
    string('client', entry.client) +
    string('key', entry.key) +
    string('model', entry.model) +
    string('upstream', entry.upstream) +
    string('target', entry.attempts.at(-1)?.model) +
    `,"status":${entry.status},"outcome":"${entry.outcome}","stream":${entry.stream}` +
    string('error', entry.error) +
    string('cause', entry.cause) +
    string('phase', entry.phase) +
    string('limit', entry.limit) +
    string('param', entry.param) +
    string('rule', entry.rule) +
    attempts(entry) +
    duration('first_ms', milliseconds.first) +
    duration('total_ms', milliseconds.total) +
    number('bytes_in', bytes.in) +
    number('bytes_out', bytes.out) +
    (entry.stream ? number('events', entry.events) : '') +
    (entry.trailing > 0 ? number('trailing', entry.trailing) : '') +
    (entry.truncated ? ',"truncated":true' : '') +
    (entry.early ? ',"early_response":true' : '') +
    (entry.dropped.length > 0 ? `,"dropped":${JSON.stringify(entry.dropped)}` : '') +
    string('blocked', entry.blocked) +
    number('close', entry.closed?.code) +
    string('closed_by', entry.closed?.by) +
    tokens(usage) +
    cost(entry.cost) +
    `,"generation":${entry.generation}}\n`
  )
}

/** What {@link goodLine} needs of a request's method, route, key, model and target. */
export function commonParts(
  entry: Pick<RequestEntry, 'method' | 'route' | 'key' | 'model' | 'upstream'> & { readonly target: string },
): CommonParts {
  const route = `","method":"${entry.method}"${string('route', entry.route)}`
  const names =
    string('key', entry.key) +
    string('model', entry.model) +
    string('upstream', entry.upstream) +
    string('target', entry.target)
  return { route, names, isAscii: ASCII.test(route) && ASCII.test(names), named: entry }
}

/** {@link requestLine} of a good request, byte for byte, with few strings to join. Its own values are ASCII. */
export function goodLine(
  request: GoodRequest,
  parts: CommonParts,
  ended: number,
  time: string,
  micro?: number,
): string {
  const { client, started, tally } = request
  const { firstByte } = tally
  return (
    `{"level":"info","time":"${time}","msg":"request","id":"${request.id}","trace":"${request.trace.id}${parts.route}` +
    (client === undefined ? '' : `,"client":${text(client)}`) +
    `${parts.names},"status":${request.status},"outcome":"ok","stream":${request.stream}` +
    (firstByte === undefined ? '' : duration('first_ms', firstByte - started)) +
    duration('total_ms', ended - started) +
    `,"bytes_in":${tally.bytesIn},"bytes_out":${tally.bytesOut}` +
    (request.stream ? `,"events":${tally.events}` : '') +
    tokens(request.usage) +
    cost(micro) +
    `,"generation":${request.generation.number}}\n`
  )
}

function tokens(usage: Usage | undefined): string {
  if (usage === undefined) return ''
  return (
    number('input_tokens', usage.input) +
    number('output_tokens', usage.output) +
    number('total_tokens', usage.total) +
    number('cached_tokens', usage.cached) +
    number('cache_write_tokens', usage.cacheWrite) +
    number('reasoning_tokens', usage.reasoning) +
    number('input_audio_tokens', usage.inputAudio) +
    number('output_audio_tokens', usage.outputAudio) +
    number('audio_seconds', usage.seconds)
  )
}

/** USD, from millionths. */
function cost(micro: number | undefined): string {
  return micro === undefined ? '' : `,"cost_usd":${microText(micro)}`
}

/** Left out where one attempt went well: `upstream` and `target` say it all. */
function attempts({ attempts }: RequestEntry): string {
  if (attempts.length === 0 || (attempts.length === 1 && attempts[0]?.phase === 'ok')) return ''
  return `,"attempts":${JSON.stringify(attempts)}`
}

function string(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${text(value)}`
}

function number(name: string, value: number | undefined): string {
  return value === undefined ? '' : `,"${name}":${value}`
}

/** Milliseconds to the hundredth, from whole numbers: those have their digits ready, broken ones are worked out each time. */
function duration(name: string, value: number | undefined): string {
  if (value === undefined) return ''
  const hundredths = Math.round(value * 100)
  const rest = hundredths % 100
  return `,"${name}":${(hundredths - rest) / 100}${FRACTIONS[rest] ?? ''}`
}

/** `''`, `.01`, … `.1`, … `.99`. */
const FRACTIONS = Array.from({ length: 100 }, (_, rest) => String(rest / 100).slice(1))

/** What needs no escaping; most names are so, and the test is cheaper than the serialiser. */
const PLAIN = /^[\w ./:*+-]*$/
const ASCII = /^[\0-\x7f]*$/

function text(value: string): string {
  return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value)
}
