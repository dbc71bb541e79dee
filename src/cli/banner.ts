import type { KeyConfig } from '../core/config.js'
import { curl } from './curl.js'
import { type Paints, paints, printable } from './io.js'
import { type Serving, variableOf } from './serving.js'
import { table } from './table.js'

/** Rows of each table. */
const MOST = 20

/** Whether a kept key itself is printed: `once` on the start that makes it, because the terminal forgets it and a log does not. */
export type ShowKey = 'always' | 'once' | 'never'

/** What `serve` says once it listens: what was loaded, the address, the keys, and a request to try. */
export function banner(serving: Serving, { colour, shows }: { colour: boolean; shows: ShowKey }): string {
  const paint = paints(colour)
  const { origin } = serving
  const trial = curl(serving)
  return [
    upstreams(serving, paint),
    models(serving, paint),
    routes(serving, paint),
    `listening on ${paint.bold(origin)}`,
    Object.entries(serving.config.keys)
      .map(([name, key]) => `key ${printable(name)}: ${keyLine(name, key, serving, { paint, shows })}`)
      .join('\n') || paint.yellow('no keys: nobody can call'),
    ...(trial === undefined ? [] : [`try it:\n\n${trial}`]),
  ].join('\n\n')
}

function upstreams({ config }: Serving, paint: Paints): string {
  const rows = Object.entries(config.upstreams).map(([name, { off, kind = '', base }]) => [
    name,
    off === undefined ? 'on' : `off: ${off}`,
    kind,
    base,
  ])
  return table({ head: ['upstream', 'state', 'kind', 'base'], rows, paint: paint.bold, most: MOST })
}

function models({ config }: Serving, paint: Paints): string {
  const state = (upstream: string): string =>
    config.upstreams[upstream]?.off === undefined ? upstream : `${upstream} (off)`
  const rows = Object.entries(config.models).map(([name, { targets }]) => [
    name,
    targets.map(target => state(target.upstream)).join(', '),
  ])
  return table({ head: ['model', 'served by'], rows, paint: paint.bold, most: MOST })
}

function routes({ plan }: Serving, paint: Paints): string {
  const rows = plan.routes.map(({ id, protocol, answer }) => [id, protocol?.name ?? answer ?? ''])
  return table({ head: ['route', 'serves'], rows, paint: paint.bold, most: MOST })
}

/** Where a caller's key comes from; the key itself only where it is kept here and may be shown. */
function keyLine(
  name: string,
  key: KeyConfig,
  { kept, env }: Serving,
  { paint, shows }: { paint: Paints; shows: ShowKey },
): string {
  const own = kept.get(name)
  if (key.disabled) return paint.yellow('disabled')
  if (key.expires !== undefined && key.expires <= Date.now()) return paint.yellow('expired')
  if (own !== undefined) {
    const how = `${own.made ? 'made on this start, ' : ''}kept in ${printable(own.file)}`
    const isShown = shows === 'always' || (shows === 'once' && own.made)
    return isShown ? `${paint.bold(own.secret.reveal())}  ${paint.dim(`(${how})`)}` : how
  }
  if (key.secrets.length === 0) return paint.yellow(key.absent ?? 'no secret')
  return key.secrets
    .map(secret => (secret.type === 'plain' ? from(variableOf(secret.secret.reveal(), env)) : 'by its hash'))
    .join(', ')
}

function from(variable: string | undefined): string {
  return variable === undefined ? 'from a file' : `from ${variable}`
}
