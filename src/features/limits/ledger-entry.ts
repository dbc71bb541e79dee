import type { Entry } from '../../core/accounts.js'
import { countMembers, quoted, textMember } from '../../core/json-line.js'
import type { LedgerRecord } from '../../core/ledger.js'
import { amountOf, type Part, type Reservation, single } from './reservation.js'

type Optional = 'mirror_of' | 'group' | 'target' | 'unpriced' | 'estimated' | 'continues'

/** A record that does not say yet what it charged. */
export type Uncharged = Omit<LedgerRecord, 'charges' | Optional> & {
  readonly [Member in Optional]?: LedgerRecord[Member] | undefined
}

const DAY_MS = 86_400_000
/** Names of a record that is larger than this, without its charges, are cut to so many characters. */
const MAX_HEAD_BYTES = 11 * 1024
const MAX_NAME_CHARS = 256
/** Most accounts of one record: with the longest names, of 660 bytes each, it stays below the largest entry. */
const MAX_CHARGES = 32
/** Most accounts that change with one record, so that no commit has too many. */
const MAX_ACCOUNTS = 256
/** UTF-8 of one character of a string. */
export const MAX_BYTES_PER_CHAR = 3

let lastDay = { number: Number.NaN, name: '' }

/** A record as the ledger has it: JSON, and the day that it belongs to. */
export interface Line {
  readonly day: string
  readonly text: string
  readonly isAscii: boolean
  /** What goes to the store with it. */
  readonly parts: readonly Part[]
}

/** The records of a settled reservation, with what it charged to budgets: one, unless it used very many accounts. */
export function linesOf(record: Uncharged, { parts }: Reservation): readonly Line[] {
  let count = 0
  for (const { accounts } of parts) count += accounts.length
  if (count <= MAX_CHARGES) return [lineOf(record, parts)]
  const used = parts
    .flatMap(single)
    .filter(part => part.accounts.some(({ unit }) => amountOf(part.amounts, unit) !== 0))
  const charged = used.filter(({ accounts: [account] }) => account?.unit === 'budget').length
  return charged <= MAX_CHARGES && used.length <= MAX_ACCOUNTS ? [lineOf(record, parts)] : split(record, used, lineOf)
}

function lineOf(record: Uncharged, parts: readonly Part[]): Line {
  let charges = ''
  for (const { accounts, amounts } of parts) {
    if (amounts.budget === 0) continue
    for (const account of accounts) {
      if (account.unit !== 'budget') continue
      account.quoted ??= JSON.stringify(account.name)
      charges += `${charges === '' ? '' : ','}${account.quoted}:${amounts.budget}`
    }
  }
  const { text, isAscii } = headOf(record)
  return { day: dayOf(record.at), text: `${text}${charges}}}`, isAscii, parts }
}

/** `charges`: members of a JSON object. */
export function makeEntries(record: Uncharged, charges: readonly string[]): readonly Entry[] {
  return split(record, charges, (part, members) => {
    const text = `${headOf(part).text}${members.join(',')}}}`
    return { day: dayOf(record.at), value: Buffer.from(text) }
  })
}

/** What was used, and what it cost, is in the first record alone. */
function split<T, Made>(record: Uncharged, all: readonly T[], make: (record: Uncharged, some: readonly T[]) => Made) {
  const made = [make(record, all.slice(0, MAX_CHARGES))]
  const { unpriced: _, estimated: __, ...rest } = record
  const further: Uncharged = { ...rest, units: {}, cost: 0, continues: true }
  for (let at = MAX_CHARGES; at < all.length; at += MAX_CHARGES)
    made.push(make(further, all.slice(at, at + MAX_CHARGES)))
  return made
}

function headOf(record: Uncharged): Pick<Line, 'text' | 'isAscii'> {
  const names = namesOf(record)
  const text = textOf(record, names)
  const isTooLarge = text.length > MAX_HEAD_BYTES / MAX_BYTES_PER_CHAR && Buffer.byteLength(text) > MAX_HEAD_BYTES
  if (!isTooLarge) return { text, isAscii: names.isAscii }
  const less = cut(record)
  return { text: textOf(less, namesOf(less)), isAscii: false }
}

/** The record as JSON up to the members of what it charged: every request writes one, and `JSON.stringify` takes thrice as long. */
function textOf(record: Uncharged, names: Names): string {
  const { id, at, units, cost, outcome, generation } = record
  const continues = record.continues === true ? ',"continues":true' : ''
  const marks = `${record.unpriced === true ? ',"unpriced":true' : ''}${record.estimated === true ? ',"estimated":true' : ''}${continues}`
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
