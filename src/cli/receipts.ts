import { type Command, InvalidArgumentError } from 'commander'
import { parseMoment } from '../config/units.js'
import { numbered } from '../core/numbered.js'
import type { Plan } from '../core/plan.js'
import type { ReceiptsConfig } from '../core/receipts.js'
import type { FoundReceipt } from '../runtime/receipts.js'
import type { Shelf } from '../sinks/receipts/shelf.js'
import { type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print, printable } from './io.js'
import { usd } from './ledger-source.js'
import { loadWithSecrets } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly json?: true
}

interface ListOptions extends Options {
  readonly day?: string
  readonly key?: string
  readonly model?: string
  readonly status?: number
  readonly limit: number
}

interface ShowOptions extends Options {
  readonly content?: true
}

/** `gateway receipts verify|list|show`: reads receipts, whether the gateway runs or not. */
export const receiptsCommand: Define = (parent, io, end) => {
  const receipts = parent.command('receipts').description('check, list and show the receipts of requests')
  shared(receipts.command('verify'))
    .description('find receipts that are missing, changed, moved or cut off; exit codes: 0 there are none, 1 there are')
    .addHelpText('after', example('gateway receipts verify', 'gateway receipts verify gateway.yaml --json'))
    .action(async (file: string | undefined, options: Options) => end(await verify(fileOf(file, options), options, io)))
  shared(receipts.command('list'))
    .description('list receipts, oldest first')
    .option('--day <day>', 'only of this day, UTC', dayOf)
    .option('--key <name>', 'only of this key')
    .option('--model <name>', 'only of this model, by its name for clients')
    .option('--status <number>', 'only with this status', count)
    .option('--limit <number>', 'maximum number of receipts', count, 100)
    .addHelpText('after', example('gateway receipts list --day 2026-11-23 --key team-search'))
    .action(async (file: string | undefined, options: ListOptions) =>
      end(await list(fileOf(file, options), options, io)),
    )
  shared(receipts.command('show').argument('<id>', 'id of the request: the header x-request-id of its answer'))
    .description('show all that the receipts say of a request')
    .option('--content', 'also show what was captured of the request and its answer')
    .addHelpText('after', example('gateway receipts show 0f8fad5b-d9cb-469f-a165-70867728950e --content'))
    .action(async (id: string, file: string | undefined, options: ShowOptions) =>
      end(await show(id, fileOf(file, options), options, io)),
    )
}

function shared(command: Command): Command {
  return takesSource(command)
    .argument('[file]', FILE_WORDS)
    .option('--json', 'print JSON; lists have one object per line')
}

type Work = (shelf: Shelf, receipts: ReceiptsConfig) => Promise<number>

async function withReceipts(file: string, options: ShowOptions, io: Io, work: Work): Promise<number> {
  const sections = options.content === true ? ['store', 'receipts'] : ['store']
  const { plan } = await loadWithSecrets(sections, file, await withVariables(io, options))
  const { receipts } = plan
  if (receipts === undefined) throw new CommandError(`${file} has no receipts: add receipts: on`)
  const { openShelf } = await import('../runtime/receipts.js')
  return await usingShelf(
    () => openShelf(plan as Plan, receipts),
    shelf => work(shelf, receipts),
  )
}

async function usingShelf(
  open: () => Promise<{ readonly shelf: Shelf; close(): Promise<void> }>,
  work: (shelf: Shelf) => Promise<number>,
): Promise<number> {
  try {
    const { shelf, close } = await open()
    try {
      return await work(shelf)
    } finally {
      await close()
    }
  } catch (error) {
    const isAway = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (isAway) throw new CommandError('no receipts have been written yet', EXIT.failed)
    throw error
  }
}

async function verify(file: string, options: Options, io: Io): Promise<number> {
  return await withReceipts(file, options, io, async shelf => {
    const { verifyReceipts } = await import('../sinks/receipts/verify.js')
    const report = await verifyReceipts(shelf)
    const { faulty, faults, receipts, chains, days, lost, torn } = report
    const isGood = faulty === 0
    if (options.json) print(io.stdout, JSON.stringify({ isGood, ...report }, undefined, 2))
    else {
      const { bold, green, red } = paints(coloured(io.stdout, io.env))
      const verdict = isGood ? green('none is missing or changed') : red(numbered(faulty, 'fault'))
      const found = `${numbered(receipts, 'receipt')} in ${numbered(chains, 'chain')}, ${numbered(days, 'day')}`
      print(io.stdout, `${found}: ${verdict}`)
      if (lost > 0) print(io.stdout, `not written: ${numbered(lost, 'receipt')}, as those after them say`)
      if (torn > 0) {
        const ends = `the last line of ${numbered(torn, 'chain')}`
        print(io.stdout, `unfinished: ${ends}; the processes were killed, or still write`)
      }
      const rows = faults.map(one => [one.fault, one.day, one.chain, String(one.line ?? ''), one.message])
      if (!isGood) print(io.stdout, table({ head: ['fault', 'day', 'chain', 'line', 'what'], rows, paint: bold }))
      if (faulty > faults.length) print(io.stdout, `… and ${faulty - faults.length} more`)
    }
    return isGood ? EXIT.ok : EXIT.failed
  })
}

async function list(file: string, { limit, ...options }: ListOptions, io: Io): Promise<number> {
  return await withReceipts(file, options, io, async shelf => {
    const { findReceipts } = await import('../runtime/receipts.js')
    const rows: string[][] = []
    let isCut = false
    for await (const { receipt } of findReceipts(shelf, options)) {
      isCut = rows.length >= limit
      if (isCut) break
      const { id, at, key = '', model = '', status = 0, outcome, cost, attempts = [] } = receipt
      const upstream = receipt.upstream ?? attempts.at(-1)?.upstream ?? ''
      const time = new Date(at).toISOString().slice(0, 19).replace('T', ' ')
      rows.push([
        id,
        time,
        key,
        model,
        upstream,
        status === 0 ? '' : String(status),
        outcome,
        cost === undefined ? '' : usd(cost),
      ])
      if (options.json) print(io.stdout, JSON.stringify(receipt))
    }
    const { bold } = paints(coloured(io.stdout, io.env))
    const head = ['id', 'time', 'key', 'model', 'upstream', 'status', 'outcome', 'usd']
    if (!options.json) print(io.stdout, table({ head, rows, paint: bold }))
    if (isCut) print(io.stderr, `only the first ${limit} are shown; raise --limit to see more`)
    return EXIT.ok
  })
}

async function show(id: string, file: string, options: ShowOptions, io: Io): Promise<number> {
  return await withReceipts(file, options, io, async (shelf, config) => {
    const { contentOf, findReceipts } = await import('../runtime/receipts.js')
    const found: FoundReceipt[] = []
    for await (const one of findReceipts(shelf, { id })) found.push(one)
    if (found.length === 0) throw new CommandError(`there is no receipt of ${printable(id)}`, EXIT.failed)
    for (const one of found) {
      print(io.stdout, JSON.stringify(one.receipt, undefined, options.json ? 0 : 2))
      if (options.content !== true) continue
      const content = await contentOf(shelf, one, config)
      if (typeof content === 'string') throw new CommandError(content, EXIT.failed)
      print(io.stdout, JSON.stringify(content, undefined, options.json ? 0 : 2))
    }
    return EXIT.ok
  })
}

function dayOf(text: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) throw new InvalidArgumentError('A day, such as 2026-11-23.')
  if (parseMoment(text) === undefined) throw new InvalidArgumentError('There is no such day.')
  return text
}

function count(text: string): number {
  const number = /^\d{1,7}$/.test(text) ? Number(text) : 0
  if (number < 1) throw new InvalidArgumentError('A number from 1 to 9999999.')
  return number
}
