import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../core/json.js'
import { valueAt } from './client.js'
import type { Call } from './scripted-upstreams.js'
import { jsonOrText } from './scripted-upstreams.js'
import type { Expect } from './test-file.js'

/** What a request led to. */
export interface Outcome {
  readonly status: number
  readonly headers: JsonObject
  readonly text: string
  /** The request's line of the log. */
  readonly line: JsonObject
  readonly calls: readonly Call[]
}

/** What is not as expected, a sentence each. */
export function faultsOf(expect: Expect, outcome: Outcome): readonly string[] {
  const { status, headers, text, line, calls } = outcome
  const last = calls.at(-1)
  const sent = last === undefined ? {} : { ...last }
  return [
    ...compare('status', expect.status, status),
    ...compare('upstream', expect.upstream, line.upstream),
    ...compare(
      'calls',
      expect.calls,
      calls.map(call => call.upstream),
    ),
    ...paths('sent', expect.sent, sent as JsonObject),
    ...paths('headers', expect.headers, headers),
    ...paths('body', expect.body, jsonOrText(text)),
    ...(expect.text === undefined || text.includes(expect.text)
      ? []
      : [`text: ${shown(expect.text)} is not in ${shown(text)}`]),
    ...compare('dropped', expect.dropped, (line.dropped ?? []) as Json),
    ...compare('error', expect.error, line.error),
    ...compare('cost', expect.cost, line.cost_usd ?? 0),
  ]
}

function compare(
  what: string,
  wanted: Json | readonly string[] | undefined,
  found: Json | undefined,
): readonly string[] {
  if (wanted === undefined || fits(wanted, found)) return []
  return [`${what}: expected ${shown(wanted)}, found ${found === undefined ? 'nothing' : shown(found)}`]
}

function paths(what: string, wanted: JsonObject | undefined, found: Json): readonly string[] {
  return Object.entries(wanted ?? {}).flatMap(([path, value]) =>
    compare(`${what}.${path}`, value, valueAt(found, path)),
  )
}

function fits(wanted: Json | readonly string[], found: Json | undefined): boolean {
  if (wanted === 'absent') return found === undefined
  if (wanted === 'present') return found !== undefined
  const [, sign, bound] = /^([<>])\s*(-?\d+(?:\.\d+)?)$/.exec(String(wanted)) ?? []
  if (sign !== undefined)
    return typeof found === 'number' && (sign === '<' ? found < Number(bound) : found > Number(bound))
  return isDeepStrictEqual(plain(wanted), plain(found))
}

/** Values of YAML have no prototype. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function shown(value: unknown): string {
  const text = JSON.stringify(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
