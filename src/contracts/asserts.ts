import { isDeepStrictEqual } from 'node:util'
import type { Asserts } from './store-stage.js'

/** Declares a test, as `test` of `node:test`, Vitest, Jest and tap do. */
export type Declare = (title: string, run: () => Promise<void>) => unknown

/** The few assertions that the cases need, without a test framework. */
export const ASSERTS: Asserts = {
  comment: () => undefined,
  ok: (value, message?: string) => hold(Boolean(value), message ?? 'the value is not true', value),
  equal: (found, wanted, message?: string) =>
    hold(Object.is(found, wanted), message ?? 'the values differ', found, wanted),
  not: (found, unwanted, message?: string) =>
    hold(!Object.is(found, unwanted), message ?? 'the values are the same', found),
  same: (found, wanted, message?: string) =>
    hold(isDeepStrictEqual(found, wanted), message ?? 'the values differ', found, wanted),
  match: (found, members, message?: string) =>
    hold(has(found, members), message ?? 'the members differ', found, members),
  rejects: async (promise, members, message?: string) => {
    const outcome = await promise.then(
      () => NOT_REJECTED,
      (error: unknown) => error,
    )
    hold(has(outcome, members), message ?? 'it is not rejected as expected', outcome, members)
  },
}

const NOT_REJECTED = 'no rejection'

function has(found: unknown, members: object): boolean {
  if (typeof found !== 'object' || found === null) return false
  return Object.entries(members).every(([name, value]) => Object.is(Reflect.get(found, name), value))
}

/** A failed expectation of a contract, with what was found. */
class ContractError extends Error {
  override readonly name = 'ContractError'
}

export function hold(isTrue: boolean, message: string, ...values: readonly unknown[]): asserts isTrue {
  if (isTrue) return
  throw new ContractError([message, ...values.map(shown)].join('\n  '))
}

function shown(value: unknown): string {
  if (value instanceof Error) return String(value)
  return JSON.stringify(value, (_name, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? 'undefined'
}
