import { type Entry, MAX_ENTRY_BYTES } from '../../core/accounts.js'
import { countMembers, quoted, textMember } from '../../core/json-line.js'
import type { LedgerRecord } from '../../core/ledger.js'
import type { Reservation } from './reservation.js'

type Optional = 'mirror_of' | 'group' | 'target' | 'unpriced' | 'estimated'

/** A record that does not say yet what it charged. */
export type Uncharged = Omit<LedgerRecord, 'charges' | Optional> & {
  readonly [Member in Optional]?: LedgerRecord[Member] | undefined
}

const DAY_MS = 86_400_000
/** Names of a record that is too large are cut to so many characters. */
const MAX_NAME_CHARS = 256

let lastDay = { number: Number.NaN, name: '' }

/** A record as the ledger has it: JSON, and the day that it belongs to. */
export interface Line {
  readonly day: string
  readonly text: string
  readonly isAscii: boolean
}

/** The record of a settled reservation, with what it charged to budgets. */
export function lineOf(record: Uncharged, { parts }: Reservation): Line {
  let charges = ''
  for (const { accounts, amounts } of parts) {
    if (amounts.budget === 0) continue
    for (const account of accounts) {
      if (account.unit !== 'budget') continue
      account.quoted ??= JSON.stringify(account.name)
      charges += `${charges === '' ? '' : ','}${account.quoted}:${amounts.budget}`
    }
  }
  return makeLine(record, charges)
}

/** `charges`: members of a JSON object. */
export function makeEntry(record: Uncharged, charges: string): Entry {
  const { day, text } = makeLine(record, charges)
  return { day, value: Buffer.from(text) }
}

function makeLine(record: Uncharged, charges: string): Line {
  const names = namesOf(record)
  const text = `${textOf(record, names)}${charges}}}`
  const isTooLarge = record.model.length > MAX_NAME_CHARS && Buffer.byteLength(text) > MAX_ENTRY_BYTES
  return isTooLarge ? makeLine(cut(record), charges) : { day: dayOf(record.at), text, isAscii: names.isAscii }
}

/** The record as JSON up to the members of what it charged: every request writes one, and `JSON.stringify` takes thrice as long. */
function textOf(record: Uncharged, names: Names): string {
  const { id, at, units, cost, outcome, generation } = record
  const marks = `${record.unpriced === true ? ',"unpriced":true' : ''}${record.estimated === true ? ',"estimated":true' : ''}`
  const mirror = textMember('mirror_of', record.mirror_of)
  return `{"id":"${id}${begin(at, names)}${countMembers(units)}},"cost":${Number.isFinite(cost) ? cost : 0}${marks}${mirror}${end(outcome, generation)}`
}

/** Records of one turn of the event loop share most of what they say: the last texts of it are kept. */
let lastBegin = { at: Number.NaN, names: '', text: '' }
let lastEnd = { outcome: '', generation: Number.NaN, text: '' }

function begin(at: number, { text: names }: Names): string {
  if (at !== lastBegin.at || names !== lastBegin.names)
    lastBegin = { at, names, text: `","at":${at}${names},"units":{` }
  return lastBegin.text
}

function end(outcome: string, generation: number): string {
  if (outcome !== lastEnd.outcome || generation !== lastEnd.generation)
    lastEnd = { outcome, generation, text: `,"outcome":"${outcome}","generation":${generation},"charges":{` }
  return lastEnd.text
}

/** What many records have in common. */
interface Names {
  readonly group: string | undefined
  readonly model: string
  readonly target: string | undefined
  readonly upstream: string
  readonly route: string
  /** Their members, each after a comma. */
  readonly text: string
  readonly isAscii: boolean
  /** Of the same key. */
  readonly next: Names | undefined
}

/** The names of records, by their key. */
const NAMES = new Map<string, Names>()
/** Most that are kept; then all are forgotten. Longer ones are not kept: clients choose the name of a model. */
const MAX_NAMES = 1024
const MAX_KEPT_CHARS = 1024
let known = 0

function namesOf(record: Uncharged): Names {
  const { key, group, model, target, upstream, route } = record
  for (let names = NAMES.get(key); names !== undefined; names = names.next) {
    const isSame = names.model === model && names.upstream === upstream && names.route === route
    if (isSame && names.target === target && names.group === group) return names
  }
  const callers = `,"key":${quoted(key)}${textMember('group', group)}`
  const models = `,"model":${quoted(model)}${textMember('target', target)}`
  const text = `${callers}${models},"upstream":${quoted(upstream)},"route":${quoted(route)}`
  if (known >= MAX_NAMES) {
    NAMES.clear()
    known = 0
  }
  // Ids and the names of accounts are ASCII.
  const isAscii = Buffer.byteLength(text) === text.length
  const names = { group, model, target, upstream, route, text, isAscii, next: NAMES.get(key) }
  if (text.length > MAX_KEPT_CHARS) return names
  known++
  NAMES.set(key, names)
  return names
}

function dayOf(at: number): string {
  const number = Math.floor(at / DAY_MS)
  if (number !== lastDay.number) lastDay = { number, name: new Date(at).toISOString().slice(0, 10) }
  return lastDay.name
}

/** Clients choose the name of a model, which may be long. */
function cut(record: Uncharged): Uncharged {
  const cutText = ([name, value]: [string, unknown]): [string, unknown] => [
    name,
    typeof value === 'string' ? value.slice(0, MAX_NAME_CHARS) : value,
  ]
  return Object.fromEntries(Object.entries(record).map(cutText)) as unknown as Uncharged
}
