import type { Command, Help } from 'commander'

/** Commands by what one does with them, for a help that fits a screen. Those that are in no group come last. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  Serve: ['serve', 'reload', 'generations', 'rollback', 'simulate', 'work'],
  Begin: ['init', 'import', 'probe', 'schema', 'completion', 'man'],
  Check: ['validate', 'lint', 'test', 'record', 'audit', 'doctor', 'fmt'],
  Explain: ['explain', 'plan', 'blast', 'routes', 'models', 'openapi'],
  Use: ['try', 'console', 'top', 'tail', 'sign-url'],
  Keep: ['keys', 'tasks', 'spend', 'ledger', 'receipts', 'store'],
}

/** The help of the whole program: a line for each group of commands. */
export function topHelp(command: Command, helper: Help): string {
  const names = helper.visibleCommands(command).map(one => one.name())
  const grouped = new Set(Object.values(GROUPS).flat())
  const groups = { ...GROUPS, Other: names.filter(name => !grouped.has(name)) }
  const lines = Object.entries(groups).flatMap(([title, all]) => {
    const shown = all.filter(name => names.includes(name))
    return shown.length === 0 ? [] : [`  ${title.padEnd(9)}${shown.join(', ')}`]
  })
  const options = helper.visibleOptions(command).map(one => `  ${one.flags.padEnd(16)}${one.description}`)
  return [
    `Usage: ${helper.commandUsage(command)}`,
    ...['', helper.commandDescription(command), '', 'Commands:', ...lines],
    ...['', 'Options:', ...options, '', 'gateway help COMMAND describes a command.', ''],
  ].join('\n')
}
