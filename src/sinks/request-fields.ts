import { microText } from '../core/bound-text.js'
import type { CommonParts, GoodRequest, RequestEntry } from '../core/entry.js'
import type { Fields } from '../core/log-record.js'
import type { Usage } from '../core/plan.js'

/** The fields of {@link requestLine}, for other formats than JSON, in the same order. */
export function requestFields(entry: RequestEntry): Fields {
  const { milliseconds, bytes, attempts } = entry
  const isPlain = attempts.length === 0 || (attempts.length === 1 && attempts[0]?.phase === 'ok')
  return {
    id: entry.id,
    trace: entry.trace,
    method: entry.method,
    mirror_of: entry.copyOf,
    route: entry.route,
    path: entry.path,
    client: entry.client,
    key: entry.key,
    model: entry.model,
    upstream: entry.upstream,
    target: attempts.at(-1)?.model,
    status: entry.status,
    outcome: entry.outcome,
    stream: entry.stream,
    error: entry.error,
    cause: entry.cause,
    phase: entry.phase,
    limit: entry.limit,
    param: entry.param,
    rule: entry.rule,
    attempts: isPlain ? undefined : attempts,
    first_ms: milliseconds.first,
    total_ms: milliseconds.total,
    bytes_in: bytes.in,
    bytes_out: bytes.out,
    events: entry.stream ? entry.events : undefined,
    trailing: entry.trailing > 0 ? entry.trailing : undefined,
    truncated: entry.truncated ? true : undefined,
    early_response: entry.early ? true : undefined,
    dropped: entry.dropped.length > 0 ? entry.dropped : undefined,
    blocked: entry.blocked,
    close: entry.closed?.code,
    closed_by: entry.closed?.by,
    ...tokenFields(entry.usage),
    cost_usd: usd(entry.cost),
    generation: entry.generation,
  }
}

/** The fields of {@link goodLine}. */
export function goodFields(request: GoodRequest, { named }: CommonParts, cost?: number): Fields {
  const { started, ended, tally } = request
  const { firstByte } = tally
  return {
    id: request.id,
    trace: request.trace.id,
    method: named.method,
    route: named.route,
    client: request.client,
    key: named.key,
    model: named.model,
    upstream: named.upstream,
    target: named.target,
    status: request.status,
    outcome: 'ok',
    stream: request.stream,
    first_ms: firstByte === undefined ? undefined : hundredths(firstByte - started),
    total_ms: hundredths(ended - started),
    bytes_in: tally.bytesIn,
    bytes_out: tally.bytesOut,
    events: request.stream ? tally.events : undefined,
    ...tokenFields(request.usage),
    cost_usd: usd(cost),
    generation: request.generation.number,
  }
}

function tokenFields(usage: Usage | undefined): Fields {
  if (usage === undefined) return {}
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    total_tokens: usage.total,
    cached_tokens: usage.cached,
    cache_write_tokens: usage.cacheWrite,
    reasoning_tokens: usage.reasoning,
    input_audio_tokens: usage.inputAudio,
    output_audio_tokens: usage.outputAudio,
    audio_seconds: usage.seconds,
  }
}

function usd(micro: number | undefined): number | undefined {
  return micro === undefined ? undefined : Number(microText(micro))
}

function hundredths(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
