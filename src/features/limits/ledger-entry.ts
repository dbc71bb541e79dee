import { type Entry, MAX_ENTRY_BYTES } from '../../core/accounts.js'
import { countMembers, quoted, textMember } from '../../core/json-line.js'
import type { LedgerRecord } from '../../core/ledger.js'
import type { Reservation } from './reservation.js'

const DAY_MS = 86_400_000
/** Names of a record that is too large are cut to so many characters. */
const MAX_NAME_CHARS = 256

let lastDay = { number: Number.NaN, name: '' }

/** The record of a settled reservation, with what it charged to budgets. */
export function entryOf(record: Omit<LedgerRecord, 'charges'>, { accounts, amounts }: Reservation): Entry {
  let charges = ''
  for (let at = 0; at < accounts.length; at++) {
    const amount = amounts[at] as number
    const account = accounts[at]
    if (account?.unit !== 'budget' || amount === 0) continue
    account.quoted ??= JSON.stringify(account.name)
    charges += `${charges === '' ? '' : ','}${account.quoted}:${amount}`
  }
  return makeEntry(record, charges)
}

/** `charges`: members of a JSON object. */
export function makeEntry(record: Omit<LedgerRecord, 'charges'>, charges: string): Entry {
  const value = bytesOf(`${textOf(record)},"charges":{${charges}}}`)
  const isTooLarge = value.length > MAX_ENTRY_BYTES && record.model.length > MAX_NAME_CHARS
  return isTooLarge ? makeEntry(cut(record), charges) : { day: dayOf(record.at), value }
}

/** Records are written one after another into blocks: buffers of their own are a third of what a record costs. */
const BLOCK_BYTES = 64 * 1024
/** UTF-8 of one character of a string. */
const MAX_BYTES_PER_CHAR = 3

let block: Buffer = Buffer.alloc(0)
let written = 0

function bytesOf(text: string): Buffer {
  const most = text.length * MAX_BYTES_PER_CHAR
  if (most > BLOCK_BYTES) return Buffer.from(text)
  if (most > block.length - written) {
    block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
    written = 0
  }
  const start = written
  written += block.write(text, start)
  return block.subarray(start, written)
}

/** The record as JSON, without its closing brace: every request writes one, and `JSON.stringify` takes thrice as long. */
function textOf(record: Omit<LedgerRecord, 'charges'>): string {
  const { id, at, key, units, cost, outcome, generation } = record
  let text = `{"id":${quoted(id)},"at":${at},"key":${quoted(key)}`
  if (record.mirror_of !== undefined) text += `,"mirror_of":${quoted(record.mirror_of)}`
  text += `${namesOf(record)},"units":{${countMembers(units)}},"cost":${cost}`
  if (record.unpriced === true) text += ',"unpriced":true'
  if (record.estimated === true) text += ',"estimated":true'
  return `${text},"outcome":"${outcome}","generation":${generation}`
}

interface Names {
  readonly group: string | undefined
  readonly target: string | undefined
  readonly upstream: string
  readonly route: string
  readonly text: string
  /** Of the same model. */
  readonly next: Names | undefined
}

/** The names of records, by their model. */
const NAMES = new Map<string, Names>()
/** Most that are kept; then all are forgotten. */
const MAX_NAMES = 256
let known = 0

function namesOf(record: Omit<LedgerRecord, 'charges'>): string {
  const { group, model, target, upstream, route } = record
  for (let names = NAMES.get(model); names !== undefined; names = names.next) {
    const isSame = names.upstream === upstream && names.target === target && names.route === route
    if (isSame && names.group === group) return names.text
  }
  const named = `${textMember('group', group)},"model":${quoted(model)}${textMember('target', target)}`
  const text = `${named},"upstream":${quoted(upstream)},"route":${quoted(route)}`
  if (known >= MAX_NAMES) {
    NAMES.clear()
    known = 0
  }
  known++
  NAMES.set(model, { group, target, upstream, route, text, next: NAMES.get(model) })
  return text
}

function dayOf(at: number): string {
  const number = Math.floor(at / DAY_MS)
  if (number !== lastDay.number) lastDay = { number, name: new Date(at).toISOString().slice(0, 10) }
  return lastDay.name
}

/** Clients choose the name of a model, which may be long. */
function cut(record: Omit<LedgerRecord, 'charges'>): Omit<LedgerRecord, 'charges'> {
  const cutText = ([name, value]: [string, unknown]): [string, unknown] => [
    name,
    typeof value === 'string' ? value.slice(0, MAX_NAME_CHARS) : value,
  ]
  return Object.fromEntries(Object.entries(record).map(cutText)) as unknown as Omit<LedgerRecord, 'charges'>
}
