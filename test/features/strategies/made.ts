import type { Choice, Exchange } from '../../../src/core/plan.js'
import type { Strategy } from '../../../src/core/strategy.js'
import { type Request, RequestView } from '../../../src/wire/request-view.js'

/** An exchange with nothing but its names. */
export function exchangeOf(name: string, parts: Partial<Exchange> = {}): Exchange {
  return { upstream: { name }, model: 'm', ...parts } as Exchange
}

export function choiceOf(
  strategy: Strategy,
  exchanges: readonly Exchange[],
  weights: readonly number[] = exchanges.map(() => 1),
): Choice {
  return { groups: [{ exchanges, weights }], routing: { strategy, hasConditions: false } }
}

export const namesOf = (exchanges: readonly Exchange[]): readonly string[] => exchanges.map(one => one.upstream.name)

/** A request with a JSON body, or none. */
export function requestOf(parts: Partial<Request> = {}, document?: unknown): RequestView {
  return new RequestView({
    body: document === undefined ? undefined : Buffer.from(JSON.stringify(document)),
    form: undefined,
    stream: false,
    key: 'alice',
    groups: [],
    header: () => undefined,
    paths: undefined,
    ...parts,
  })
}
