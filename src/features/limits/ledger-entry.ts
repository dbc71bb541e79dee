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

/** The record of a settled reservation, with what it charged to budgets. */
export function entryOf(record: Uncharged, { parts }: Reservation): Entry {
  let charges = ''
  for (const { accounts, amounts } of parts) {
    if (amounts.budget === 0) continue
    for (const account of accounts) {
      if (account.unit !== 'budget') continue
      account.quoted ??= JSON.stringify(account.name)
      charges += `${charges === '' ? '' : ','}${account.quoted}:${amounts.budget}`
    }
  }
  return makeEntry(record, charges)
}

/** `charges`: members of a JSON object. */
export function makeEntry(record: Uncharged, charges: string): Entry {
  const names = namesOf(record)
  const value = bytesOf(`${textOf(record, names)},"charges":{${charges}}}`, names.isAscii)
  const isTooLarge = value.length > MAX_ENTRY_BYTES && record.model.length > MAX_NAME_CHARS
  return isTooLarge ? makeEntry(cut(record), charges) : { day: dayOf(record.at), value }
}

/** Records are written one after another into blocks: buffers of their own are a third of what a record costs. */
const BLOCK_BYTES = 64 * 1024
/** UTF-8 of one character of a string. */
const MAX_BYTES_PER_CHAR = 3

let block: Buffer = Buffer.alloc(0)
let written = 0

/** `isAscii`: each character is one byte, which is half the work. */
function bytesOf(text: string, isAscii: boolean): Buffer {
  const most = isAscii ? text.length : text.length * MAX_BYTES_PER_CHAR
  if (most > BLOCK_BYTES) return Buffer.from(text)
  if (most > block.length - written) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    written = 0
  }
  const start = written
  written += block.write(text, start, isAscii ? 'latin1' : 'utf8')
  return block.subarray(start, written)
}

/** The record as JSON, without its closing brace: every request writes one, and `JSON.stringify` takes thrice as long. */
function textOf(record: Uncharged, names: Names): string {
  const { id, at, units, cost, outcome, generation } = record
  const marks = `${record.unpriced === true ? ',"unpriced":true' : ''}${record.estimated === true ? ',"estimated":true' : ''}`
  return (
    `{"id":"${id}","at":${at}${names.text},"units":{${countMembers(units)}},"cost":${Number.isFinite(cost) ? cost : 0}${marks}` +
    `${textMember('mirror_of', record.mirror_of)},"outcome":"${outcome}","generation":${generation}`
  )
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
