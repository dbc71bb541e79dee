import { hash } from 'node:crypto'
import {
  type ClaimRule,
  IDENTITY_MARK,
  IDENTITY_TERMS,
  type IdentityTerm,
  type Mapping,
  type Said,
} from '../../core/identity.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { KeyTerms } from '../keys/record.js'
import { TokenFault } from './verify.js'

/** Names that logs have as they are; others are digested. */
const PLAIN_NAME = /^[A-Za-z0-9][\w.@+-]{0,119}$/
const DIGEST_CHARS = 32
/** Most values of a claim that are looked at. */
const MAX_VALUES = 1000
/** Terms that are lists. */
const LISTS: readonly IdentityTerm[] = ['models', 'regions']

/** Who the holder of a token is. */
export interface Identity {
  /** `PROVIDER:NAME`. */
  readonly name: string
  /** Name of the key that it stands for. */
  readonly key?: string
  /** In the words of an entry of `keys`. */
  readonly terms: KeyTerms
}

/** Reads claims as the file says. Throws {@link TokenFault} for claims that are missing or say something else. */
export function identityOf({ name, caller }: Mapping, claims: JsonObject): Identity {
  const subject = claimOf(claims, caller.name)
  if (typeof subject !== 'string' || subject === '') throw new TokenFault(`the claim ${caller.name} is not a name`)
  const shown = PLAIN_NAME.test(subject) ? subject : `~${hash('sha256', subject).slice(0, DIGEST_CHARS)}`
  const identity = { name: `${name}${IDENTITY_MARK}${shown}` }
  if (caller.key !== undefined) {
    const key = valueFor('key', caller.key, claims)
    if (typeof key !== 'string') throw new TokenFault('the claim of key is not a name')
    return { ...identity, key, terms: {} }
  }
  const terms: Record<string, Json> = {}
  for (const term of IDENTITY_TERMS) {
    const said = caller.terms[term]
    if (said !== undefined) terms[term] = valueFor(term, said, claims)
  }
  return { ...identity, terms }
}

function valueFor(term: IdentityTerm | 'key', said: Said, claims: JsonObject): Json {
  if ('value' in said) return said.value
  const found = claimOf(claims, said.claim)
  const value = said.map === undefined ? asWritten(term, found) : mapped(said, found)
  const given = value ?? said.default
  if (given === undefined) throw new TokenFault(`the claim ${said.claim} gives no ${term}`)
  return given
}

/** What a rule with a map says of claims. */
export function byClaim(rule: ClaimRule, claims: JsonObject): Json | undefined {
  return mapped(rule, claimOf(claims, rule.claim)) ?? rule.default
}

/** The first entry of the map that the claim has. */
function mapped({ map = [] }: ClaimRule, found: Json | undefined): Json | undefined {
  if (found === undefined) return undefined
  const values = new Set((Array.isArray(found) ? found.slice(0, MAX_VALUES) : [found]).map(String))
  return map.find(([value]) => values.has(value))?.[1]
}

function asWritten(term: IdentityTerm | 'key', found: Json | undefined): Json | undefined {
  if (found === undefined || found === null) return undefined
  if (!LISTS.some(list => list === term)) return found
  const list = Array.isArray(found) ? (found as readonly Json[]) : String(found).split(/[\s,]+/)
  const texts = list.filter(one => typeof one === 'string' && one !== '')
  if (texts.length !== list.length || list.length > MAX_VALUES)
    throw new TokenFault(`the claim of ${term} is not a list`)
  return texts
}

/** A claim by its name, or a nested one by a JSON pointer (RFC 6901). */
export function claimOf(claims: JsonObject, place: string): Json | undefined {
  if (Object.hasOwn(claims, place)) return claims[place]
  if (!place.startsWith('/')) return undefined
  let value: Json | undefined = claims
  for (const part of place.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) value = /^\d{1,4}$/.test(name) ? (value as readonly Json[])[Number(name)] : undefined
    else value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }
  return value
}
