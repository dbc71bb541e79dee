import type { FailureRules } from '../core/failure-cause.js'
import type { Test, When } from '../core/when.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { checkNoCredential } from './headers.js'
import { placeAt } from './placed-rules.js'
import type { RawCondition, RawProtocol, RawWhen } from './raw.generated.js'

/** `when` of a target. */
export function readWhen(raw: RawWhen | undefined, site: Site, context: Context): { when?: When } {
  if (raw === undefined) return {}
  const { tokens, header = {}, body, ...rest } = raw
  for (const name of Object.keys(header)) checkNoCredential(name, site.child('header', name), context)
  const headers = Object.fromEntries(Object.entries(header).map(([name, value]) => [name.toLowerCase(), testOf(value)]))
  const when: When = {
    ...rest,
    ...(tokens === undefined ? {} : { tokens: testOf(tokens) }),
    ...(raw.header === undefined ? {} : { header: headers }),
    ...(body === undefined ? {} : { body: testsOf(body) }),
  }
  placeAt(site, when)
  return { when }
}

/** `failures` of a protocol. */
export function readFailures(raw: NonNullable<RawProtocol['failures']>): FailureRules {
  return Object.fromEntries(Object.entries(raw).map(([cause, rules]) => [cause, rules.map(testsOf)]))
}

function testsOf(raw: Readonly<Record<string, RawCondition>>): Readonly<Record<string, Test>> {
  return Object.fromEntries(Object.entries(raw).map(([path, value]) => [path, testOf(value)]))
}

function testOf(raw: RawCondition): Test {
  if (typeof raw !== 'object') return { in: [raw] }
  return isList(raw) ? { in: raw } : raw
}

function isList(raw: object): raw is readonly (string | number | boolean)[] {
  return Array.isArray(raw)
}
