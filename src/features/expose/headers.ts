import { microText } from '../../core/bound-text.js'
import type { Exposed } from '../../core/exposed.js'
import type { Call } from '../../kernel/call.js'
import type { AttemptView } from '../../kernel/stages.js'
import { Asked } from './asked.js'

/** Most characters of a value: names of models may be the client's. */
const MAX_VALUE_CHARS = 256

/** The header of each word, in lower case. */
export const HEADER_NAMES: Readonly<Record<Exposed, string>> = {
  upstream: 'x-gateway-upstream',
  model: 'x-gateway-model',
  attempts: 'x-gateway-attempts',
  cost: 'x-gateway-cost',
  timing: 'server-timing',
  generation: 'x-gateway-generation',
}

/** Adds what is known now to a flat name, value list. What an upstream says under one of our own names is replaced. */
export function addExposed(call: Call, exposed: readonly Exposed[], headers: string[]): void {
  const asked = Asked.of(call)
  const answering = asked?.answering
  for (const word of exposed) {
    const value = valueFor(word, call, asked, answering)
    const name = HEADER_NAMES[word]
    if (word !== 'timing') remove(headers, name)
    if (value !== undefined) headers.push(name, value)
  }
}

function valueFor(
  word: Exposed,
  call: Call,
  asked: Asked | undefined,
  answering: AttemptView | undefined,
): string | undefined {
  switch (word) {
    case 'upstream': {
      // The download of a task's content has no target: its tries are only noted.
      const name = asked === undefined ? call.attempts.at(-1)?.upstream : answering?.exchange.upstream.name
      return name && safe(name)
    }
    case 'model':
      return answering === undefined || answering.exchange.model === '' ? undefined : safe(answering.exchange.model)
    case 'attempts':
      return String(asked?.count ?? call.attempts.length)
    case 'cost':
      return costOf(call, asked)
    case 'timing':
      return timing(call, asked, answering)
    case 'generation':
      return String(call.generation.number)
  }
}

/** USD. A configuration without prices and limits knows no cost. */
function costOf({ generation }: Call, asked: Asked | undefined): string | undefined {
  if (generation.plan.accounting === undefined) return undefined
  const cost = asked === undefined ? 0 : asked.cost
  return cost === undefined ? undefined : microText(cost)
}

/** Metrics of Server Timing (W3C), durations in milliseconds. */
function timing(call: Call, asked: Asked | undefined, answering: AttemptView | undefined): string {
  const now = performance.now()
  const own =
    now - call.started - (asked?.busy(now) ?? call.attempts.reduce((sum, { milliseconds }) => sum + milliseconds, 0))
  const times = answering?.times
  const metrics = [metric('own', own)]
  if (times === undefined) return metrics[0] ?? ''
  const { asked: from, placed, sent, answered } = times
  if (sent > 0) {
    metrics.push(metric('queue', placed > 0 ? placed - from : 0))
    metrics.push(metric('connect', sent - (placed > 0 ? placed : from)))
  }
  const begun = sent > 0 ? sent : from
  if (answering?.isSent === true && begun > 0)
    metrics.push(metric('first_byte', (answered > 0 ? answered : now) - begun))
  return metrics.join(', ')
}

function metric(name: string, milliseconds: number): string {
  return `${name};dur=${Math.max(0, Math.round(milliseconds * 100) / 100)}`
}

/** Visible ASCII stays; the rest is percent-encoded, so that a name cannot end its header. */
function safe(name: string): string {
  const text = /^[\x21-\x7e]*$/.test(name) ? name : encodeURI(Buffer.from(name).toString())
  return text.slice(0, MAX_VALUE_CHARS)
}

function remove(headers: string[], name: string): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) if (headers[at]?.toLowerCase() === name) headers.splice(at, 2)
}
