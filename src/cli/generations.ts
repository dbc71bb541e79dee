import { InvalidArgumentError } from 'commander'
import { isObject } from '../core/json.js'
import { adminApiOf, askObject } from './admin-api.js'
import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { changeOver, serves } from './reload.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions {
  readonly admin?: string
  readonly json?: true
}

const ADMIN_WORDS = 'where its admin API is, instead of the address in the file'
/** Names of one kind of change in a line. */
const MAX_NAMES = 3

/** `gateway generations`: what a running gateway served since it began. */
export const generationsCommand: Define = (parent, io, end) => {
  takesSource(parent.command('generations'))
    .description('list the configurations that a running gateway has served, the newest first')
    .argument('[file]', FILE_WORDS)
    .option('--admin <origin>', ADMIN_WORDS)
    .option('--json', 'print JSON')
    .addHelpText('after', example('gateway generations', 'gateway rollback 3'))
    .action(async (file: string | undefined, options: Options) => {
      end(await list(fileOf(file, options), options, await withVariables(io, options)))
    })
}

/** `gateway rollback`: an older configuration serves again. */
export const rollbackCommand: Define = (parent, io, end) => {
  takesSource(parent.command('rollback'))
    .description('serve again what the files said at an older generation; the files themselves stay as they are')
    .argument('<generation>', 'its number, as `gateway generations` lists it', generationNumber)
    .argument('[file]', FILE_WORDS)
    .option('--admin <origin>', ADMIN_WORDS)
    .addHelpText('after', example('gateway rollback 3', 'gateway rollback 3 gateway.yaml'))
    .action(async (generation: number, file: string | undefined, options: Options) => {
      const from = await withVariables(io, options)
      const api = await adminApiOf(fileOf(file, options), options.admin, from)
      const note = '; put the file back as well: it is read again when it changes, and at the next start'
      end(await changeOver(api, '/admin/rollback', { generation }, answer => `${serves(answer)}${note}`, io))
    })
}

async function list(file: string, { admin, json }: Options, io: Io): Promise<number> {
  const { data } = await askObject(await adminApiOf(file, admin, io), '/admin/generations')
  const all = Array.isArray(data) ? data.filter(isObject) : []
  if (json) print(io.stdout, JSON.stringify(all, undefined, 2))
  else {
    const head = ['', 'generation', 'since', 'because of', 'requests', 'changes']
    print(io.stdout, table({ head, rows: all.map(rowOf), paint: paints(coloured(io.stdout, io.env)).bold }))
  }
  return EXIT.ok
}

function rowOf(one: Readonly<Record<string, unknown>>): readonly string[] {
  const since = typeof one.at === 'number' ? new Date(one.at).toISOString().replace(/\.\d+Z$/, 'Z') : ''
  const mark = one.serving === true ? '>' : isObject(one.canary) && one.canary.state === 'running' ? '~' : ''
  return [mark, String(one.number), since, String(one.origin ?? ''), String(one.requests ?? 0), detailsOf(one)]
}

/** What it changed, and what its canary came to. */
function detailsOf({ changes, canary }: Readonly<Record<string, unknown>>): string {
  return [canaryOf(canary), changesOf(changes)].filter(text => text !== '').join('; ')
}

/** `canary 5%: back, 3 of 40 requests failed, …` */
function canaryOf(canary: unknown): string {
  if (!isObject(canary)) return ''
  const { share, state, reason } = canary
  return `canary ${Number((Number(share) * 100).toFixed(3))}%: ${state}${reason === undefined ? '' : `, ${reason}`}`
}

/** `keys +alice -bob ~carol; settings limits` */
function changesOf(changes: unknown): string {
  if (!isObject(changes)) return ''
  return Object.entries(changes)
    .map(([section, what]) => `${section} ${isObject(what) ? namesOf(what).join(' ') : shortened(what)}`)
    .join('; ')
}

function namesOf(what: Readonly<Record<string, unknown>>): readonly string[] {
  const signs = { added: '+', removed: '-', changed: '~' } as const
  const named = Object.entries(signs).flatMap(([member, sign]) => {
    const names = what[member]
    return Array.isArray(names) && names.length > 0 ? [shortened(names.map(name => `${sign}${name}`))] : []
  })
  return what.reordered === true ? [...named, '(another order)'] : named
}

function shortened(names: unknown): string {
  const all = Array.isArray(names) ? names.map(String) : []
  return `${all.slice(0, MAX_NAMES).join(' ')}${all.length > MAX_NAMES ? ` and ${all.length - MAX_NAMES} more` : ''}`
}

/** For options and arguments. */
export function generationNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('expected the number of a generation')
  return value
}
