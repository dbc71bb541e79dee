import { microText } from '../core/bound-text.js'
import type { CommonParts, GoodRequest, RequestEntry } from '../core/entry.js'
import { durationMember, numberMember, quoted, textMember } from '../core/json-line.js'
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
    textMember('mirror_of', entry.copyOf) +
    textMember('route', entry.route) +
    textMember('path', entry.path) +
    textMember('client', entry.client) +
    textMember('key', entry.key) +
    textMember('model', entry.model) +
    textMember('upstream', entry.upstream) +
    textMember('target', entry.attempts.at(-1)?.model) +
    `,"status":${entry.status},"outcome":"${entry.outcome}","stream":${entry.stream}` +
    textMember('error', entry.error) +
    textMember('cause', entry.cause) +
    textMember('phase', entry.phase) +
    textMember('limit', entry.limit) +
    textMember('param', entry.param) +
    textMember('rule', entry.rule) +
    attempts(entry) +
    durationMember('first_ms', milliseconds.first) +
    durationMember('total_ms', milliseconds.total) +
    numberMember('bytes_in', bytes.in) +
    numberMember('bytes_out', bytes.out) +
    (entry.stream ? numberMember('events', entry.events) : '') +
    (entry.trailing > 0 ? numberMember('trailing', entry.trailing) : '') +
    (entry.truncated ? ',"truncated":true' : '') +
    (entry.early ? ',"early_response":true' : '') +
    (entry.dropped.length > 0 ? `,"dropped":${JSON.stringify(entry.dropped)}` : '') +
    textMember('blocked', entry.blocked) +
    numberMember('close', entry.closed?.code) +
    textMember('closed_by', entry.closed?.by) +
    tokens(usage) +
    cost(entry.cost) +
    `,"generation":${entry.generation}}\n`
  )
}

/** What {@link goodLine} needs of a request's method, route, key, model and target. */
export function commonParts(
  entry: Pick<RequestEntry, 'method' | 'route' | 'key' | 'model' | 'upstream'> & { readonly target: string },
): CommonParts {
  const route = `","method":"${entry.method}"${textMember('route', entry.route)}`
  const names =
    textMember('key', entry.key) +
    textMember('model', entry.model) +
    textMember('upstream', entry.upstream) +
    textMember('target', entry.target)
  return { route, names, isAscii: ASCII.test(route) && ASCII.test(names), named: entry }
}

/** {@link requestLine} of a good request, byte for byte, with few strings to join. Its own values are ASCII. */
export function goodLine(request: GoodRequest, parts: CommonParts, time: string, micro?: number): string {
  const { client, started, ended, tally } = request
  const { firstByte } = tally
  return (
    `{"level":"info","time":"${time}","msg":"request","id":"${request.id}","trace":"${request.trace.id}${parts.route}` +
    (client === undefined ? '' : `,"client":${quoted(client)}`) +
    `${parts.names},"status":${request.status},"outcome":"ok","stream":${request.stream}` +
    (firstByte === undefined ? '' : durationMember('first_ms', firstByte - started)) +
    durationMember('total_ms', ended - started) +
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
    numberMember('input_tokens', usage.input) +
    numberMember('output_tokens', usage.output) +
    numberMember('total_tokens', usage.total) +
    numberMember('cached_tokens', usage.cached) +
    numberMember('cache_write_tokens', usage.cacheWrite) +
    numberMember('reasoning_tokens', usage.reasoning) +
    numberMember('input_audio_tokens', usage.inputAudio) +
    numberMember('output_audio_tokens', usage.outputAudio) +
    numberMember('audio_seconds', usage.seconds)
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

const ASCII = /^[\0-\x7f]*$/
