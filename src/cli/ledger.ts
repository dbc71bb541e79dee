import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { usd, withLedger } from './ledger-source.js'
import { loadWithSecrets } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly json?: true
}

/** `gateway ledger verify`: whether the ledger explains what its budgets have spent, whether the gateway runs or not. */
export const ledgerCommand: Define = (parent, io, end) => {
  const ledger = parent.command('ledger').description('check the record of what was used and charged')
  takesSource(ledger.command('verify'))
    .description('compare the ledger with what its budgets have spent; exit codes: 0 they agree, 1 they do not')
    .argument('[file]', FILE_WORDS)
    .option('--json', 'print one object')
    .addHelpText('after', example('gateway ledger verify', 'gateway ledger verify gateway.yaml --json'))
    .action(async (file: string | undefined, options: Options) => end(await verify(fileOf(file, options), options, io)))
}

async function verify(file: string, options: Options, io: Io): Promise<number> {
  const { plan, config } = await loadWithSecrets(['store'], file, await withVariables(io, options))
  const { budgetAccounts, checkLedger } = await import('../runtime/ledger-check.js')
  return await withLedger(plan, async ledger => {
    const { timeZone = 'UTC' } = plan.accounting ?? {}
    const report = await checkLedger(ledger, { timeZone, expected: budgetAccounts(config, timeZone) })
    const agrees = report.differing === 0
    print(io.stdout, options.json ? JSON.stringify({ agrees, ...report }, undefined, 2) : textOf(report, io))
    return agrees ? EXIT.ok : EXIT.failed
  })
}

type Report = Awaited<ReturnType<typeof import('../runtime/ledger-check.js').checkLedger>>

function textOf(report: Report, io: Io): string {
  const {
    entries,
    days,
    accounts,
    differing,
    differences,
    moving,
    uncovered,
    uncoveredWindows,
    droppedUntil,
    forgotten,
  } = report
  const { bold, green, red } = paints(coloured(io.stdout, io.env))
  const verdict = differing === 0 ? green('all agree') : red(`${differing} ${differing === 1 ? 'differs' : 'differ'}`)
  const lines = [
    `${count(entries, 'entry', 'entries')} of ${count(days, 'day')}, ${count(accounts, 'account')} of budgets compared: ${verdict}`,
  ]
  if (uncovered > 0) {
    const windows = Object.entries(uncoveredWindows).map(
      ([window, accounts]) => `${window} (${count(accounts, 'account')})`,
    )
    lines.push(`not covered, because days up to ${droppedUntil} were dropped: ${windows.join(', ')}`)
  }
  if (forgotten > 0) lines.push(`not kept: ${count(forgotten, 'account')} of windows that have ended`)
  if (moving > 0) lines.push(`in use: ${count(moving, 'account')} changed all the while; nothing contradicts them`)
  if (differing === 0) return lines.join('\n')
  const rows = differences.map(one => [one.account, usd(one.entries), usd(one.spent), usd(one.spent - one.entries)])
  const head = ['account', 'usd of entries', 'usd spent', 'difference']
  lines.push(table({ head, rows, paint: bold }))
  if (differing > differences.length) lines.push(`… and ${differing - differences.length} more`)
  return lines.join('\n')
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}
