import { InvalidArgumentError, Option } from 'commander'
import { PRICE_UNITS } from '../core/bounds.js'
import type { LedgerRange } from '../runtime/ledger-store.js'
import { SPENT_BY, Spending, type Spent, type SpentBy, unitsOf } from '../runtime/spending.js'
import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { usd, withLedger } from './ledger-source.js'
import { loadWithSecrets } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly by: SpentBy
  readonly since?: Bound
  readonly until?: Bound
  readonly format: keyof typeof FORMATS
}

/** A day of the ledger (UTC), or a moment in milliseconds since the epoch. */
type Bound = { readonly day: string } | { readonly moment: number }

const WHEN = 'a day (UTC), a moment (2026-11-01T08:00Z), or an age (30m, 12h, 7d)'

/** `gateway spend`: what the ledger of a configuration's store adds up to, whether the gateway runs or not. */
export const spendCommand: Define = (parent, io, end) => {
  takesSource(parent.command('spend'))
    .description('sum up what was used and what it cost, from the ledger')
    .argument('[file]', FILE_WORDS)
    .addOption(new Option('--by <what>', 'one line for each').choices(SPENT_BY).default('key'))
    .option('--since <when>', `from then on: ${WHEN}`, bound)
    .option('--until <when>', 'up to then, a day included; as --since', bound)
    .addOption(new Option('--format <format>', 'output format').choices(Object.keys(FORMATS)).default('table'))
    .addHelpText(
      'after',
      example('gateway spend --since 7d', 'gateway spend --by model --since 2026-11-01 --format csv'),
    )
    .action(async (file: string | undefined, options: Options) => end(await spend(fileOf(file, options), options, io)))
}

async function spend(file: string, options: Options, io: Io): Promise<number> {
  const { plan } = await loadWithSecrets(['store'], file, await withVariables(io, options))
  return await withLedger(plan, async ledger => {
    const spending = new Spending(options.by)
    for await (const { day, records } of ledger.pages(rangeOf(options))) {
      for (const record of records) spending.add(day, record)
    }
    // Keys of the store, and a file that was another once, may have been counted.
    const isEmpty = spending.total.requests === 0 && plan.accounting?.ledger === undefined
    if (isEmpty) print(io.stderr, 'this file counts nothing: add limits, prices or groups')
    print(io.stdout, FORMATS[options.format](spending, options.by, io, isEmpty))
    return EXIT.ok
  })
}

function rangeOf({ since, until }: Options): LedgerRange {
  return {
    ...(since === undefined ? {} : 'day' in since ? { firstDay: since.day } : { since: since.moment }),
    ...(until === undefined ? {} : 'day' in until ? { lastDay: until.day } : { until: until.moment }),
  }
}

type Format = (spending: Spending, by: SpentBy, io: Io, isUncounted: boolean) => string

const FORMATS = { table: asTable, csv: asCsv, json: asJson } satisfies Record<string, Format>

function asTable(spending: Spending, by: SpentBy, io: Io): string {
  const { groups, other, total } = spending
  const units = unitsOf(total)
  const line = (name: string, { requests, failed, cost, estimated, ...spent }: Spent): readonly string[] => [
    name,
    String(requests),
    String(failed),
    usd(cost),
    cost === 0 ? '' : `${Math.round((estimated / cost) * 100)} %`,
    ...units.map(unit => String(spent.units[unit] ?? 0)),
  ]
  const rows = [
    ...groups.map(({ name, spent }) => line(name === '' ? `(no ${by})` : name, spent)),
    ...(other === undefined ? [] : [line('(other)', other)]),
    line('(total)', total),
  ]
  const { bold } = paints(coloured(io.stdout, io.env))
  const text = table({ head: [by, 'requests', 'failed', 'usd', 'estimated', ...units], rows, paint: bold })
  return total.unpriced === 0 ? text : `${text}\n${total.unpriced} of these had no price and are counted as free`
}

/** RFC 4180, always with the same columns. */
function asCsv({ groups, other, total }: Spending, by: SpentBy): string {
  const line = (kind: string, name: string, { requests, failed, cost, estimated, unpriced, units }: Spent): string =>
    [
      ...[kind, cell(name), requests, failed, usd(cost), usd(estimated), unpriced],
      ...PRICE_UNITS.map(unit => units[unit] ?? 0),
    ].join(',')
  return [
    ['line', by, 'requests', 'failed', 'usd', 'estimated_usd', 'unpriced', ...PRICE_UNITS].join(','),
    ...groups.map(({ name, spent }) => line(by, name, spent)),
    ...(other === undefined ? [] : [line('other', '', other)]),
    line('total', '', total),
  ].join('\r\n')
}

/** Clients choose names of models where a glob serves them; a spreadsheet must not take one for a formula. */
function cell(name: string): string {
  const text = /^[=+\-@]/.test(name) ? `'${name}` : name
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

function asJson({ groups, other, total }: Spending, by: SpentBy, _: Io, isUncounted: boolean): string {
  const facts = ({ cost, estimated, ...spent }: Spent): object => ({
    usd: usd(cost),
    estimated_usd: usd(estimated),
    ...spent,
  })
  return JSON.stringify(
    {
      by,
      ...(isUncounted ? { counting: false } : {}),
      groups: groups.map(({ name, spent }) => ({ name: name === '' ? null : name, ...facts(spent) })),
      ...(other === undefined ? {} : { other: facts(other) }),
      total: facts(total),
    },
    undefined,
    2,
  )
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function bound(text: string): Bound {
  const age = /^(\d{1,6})([mhd])$/.exec(text)
  if (age !== null) return { moment: Date.now() - Number(age[1]) * (UNITS_MS[age[2] ?? ''] ?? 0) }
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const moment = isTime ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment)) throw new InvalidArgumentError(`Expected ${WHEN}.`)
  if (text.length > 10) return { moment }
  // Date.parse takes 2026-02-30 for a day of March.
  if (new Date(moment).toISOString().slice(0, 10) !== text) throw new InvalidArgumentError('There is no such day.')
  return { day: text }
}
