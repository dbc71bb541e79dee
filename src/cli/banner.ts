import type { KeyConfig } from '../core/config.js'
import { ADMIN_KEY } from '../plan/keys.js'
import { curl } from './curl.js'
import { type Paints, paints, printable } from './io.js'
import { type Serving, type Variable, variableOf } from './serving.js'

/** Keys have lines of their own. */
const MAX_LINES = 3
/** Upstreams that are off, each with its reason, in one line. */
const MAX_OFF = 2
/** Names of upstreams or models in one line. */
const MAX_NAMES = 8

/** Whether a generated key itself is printed: `once` on the start that creates it, and only on a terminal, because a log keeps it. */
export type ShowKey = 'always' | 'once' | 'never'

/**
 * What `serve` prints once it listens: the address, what is on and what is off, the keys, and a request to try. At
 * most twenty lines for any configuration: `gateway routes` and `gateway models` list the rest.
 */
export function banner(serving: Serving, { colour, shows }: { colour: boolean; shows: ShowKey }): string {
  const paint = paints(colour)
  const { origin, plan } = serving
  const trial = curl(serving)
  const keys = Object.entries(serving.config.keys).map(
    ([name, key]) => `key ${printable(name)}: ${keyLine(name, key, serving, { paint, shows })}`,
  )
  return [
    `listening on ${paint.bold(origin)}`,
    upstreams(serving, paint),
    models(serving),
    `routes     ${plan.routes.length} (gateway routes and gateway models list all)`,
    ...(keys.length > 0 ? shortened(keys) : [paint.yellow(noKeys(serving))]),
    ...adminLine(serving, { paint, shows }),
    ...(trial === undefined ? [] : ['', 'try it:', trial]),
  ].join('\n')
}

/** Keys of the store change while it runs, so their number is not shown. */
function noKeys({ plan, adminOrigin }: Serving): string {
  if (plan.store.type !== 'memory') return 'no keys in the file: only those of the store (gateway keys list)'
  return adminOrigin === undefined
    ? 'no keys: no one can call'
    : 'no keys in the file: only those that the admin API makes'
}

/** What is on and what is off, in one line; `gateway models` says why for each. */
function upstreams({ config }: Serving, paint: Paints): string {
  const all = Object.entries(config.upstreams)
  const on = all.flatMap(([name, { off }]) => (off === undefined ? [name] : []))
  const off = all.flatMap(([name, { off }]) => (off === undefined ? [] : [`${printable(name)} (${printable(off)})`]))
  const more = off.length - MAX_OFF
  const why = `${off.slice(0, MAX_OFF).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `upstreams  ${on.length === 0 ? 'none' : named(on)}${off.length === 0 ? '' : `; ${paint.yellow('off')}: ${why}`}`
}

/** Models without a wildcard come first: clients can use their names unchanged. */
function models({ config }: Serving): string {
  const names = Object.entries(config.models)
    .filter(([, { targets }]) => targets.some(({ upstream }) => config.upstreams[upstream]?.off === undefined))
    .map(([name]) => name)
  const fixed = names.filter(name => !name.includes('*'))
  const off = Object.keys(config.models).length - names.length
  const shown = [...fixed, ...names.filter(name => name.includes('*'))]
  return `models     ${shown.length === 0 ? 'none' : named(shown)}${off === 0 ? '' : `; ${off} off`}`
}

function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return `${names.slice(0, MAX_NAMES).map(printable).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LINES) return lines
  return [...lines.slice(0, MAX_LINES - 1), `and ${lines.length - MAX_LINES + 1} more`]
}

/** Where the admin API and the console are, and their key as those of callers. */
function adminLine(serving: Serving, how: { paint: Paints; shows: ShowKey }): readonly string[] {
  const { adminOrigin, config, plan } = serving
  if (adminOrigin === undefined) return []
  const { secret } = config.admin ?? {}
  const absent = secret === undefined || plan.admin?.digest === undefined
  const key = { secrets: secret === undefined ? [] : [secret], models: [], disabled: false, strict: false }
  const line = absent ? how.paint.yellow('no key: no one can use it') : keyLine(ADMIN_KEY, key, serving, how)
  const place =
    plan.admin?.console === true
      ? `console    ${adminOrigin} (gateway console prints a link)`
      : `admin      ${adminOrigin}`
  return [`${place}, key: ${line}`]
}

/** Where a caller's key comes from; the key itself only if it is stored here and may be shown. */
function keyLine(
  name: string,
  key: KeyConfig,
  { kept, ...variables }: Serving,
  { paint, shows }: { paint: Paints; shows: ShowKey },
): string {
  const own = kept.get(name)
  if (key.disabled) return paint.yellow('disabled')
  if (key.expires !== undefined && key.expires <= Date.now()) return paint.yellow('expired')
  if (own !== undefined) {
    const how = `${own.made ? 'created on this start, ' : ''}kept in ${printable(own.file)}`
    const isShown = shows === 'always' || (shows === 'once' && own.made)
    return isShown ? `${paint.bold(own.secret.reveal())}  ${paint.dim(`(${how})`)}` : how
  }
  if (key.secrets.length === 0) return paint.yellow(key.absent ?? 'no secret')
  return key.secrets
    .map(secret => (secret.type === 'plain' ? from(variableOf(secret.secret.reveal(), variables)) : 'by its hash'))
    .join(', ')
}

function from(variable: Variable | undefined): string {
  if (variable === undefined) return 'from a file'
  return `from ${variable.name}${variable.file === undefined ? '' : ` in ${printable(variable.file)}`}`
}
