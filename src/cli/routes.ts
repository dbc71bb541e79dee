import type { Route } from '../core/plan.js'
import { HEALTH_PATHS } from '../core/route-settings.js'
import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { mustLoad, type Ready } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, sampleName, takesSource, withVariables } from './source.js'
import { table } from './table.js'

const HEAD = ['method', 'path', 'serves', 'models', 'schema', 'from']

interface Options extends SourceOptions {
  readonly json?: true
}

/** `gateway routes`: one line for each route that the file serves, the health routes included. */
export const routesCommand: Define = (parent, io, end) => {
  takesSource(parent.command('routes'))
    .description('list the routes of a configuration')
    .argument('[file]', FILE_WORDS)
    .option('--json', 'print a JSON array')
    .addHelpText('after', example('gateway routes gateway.yaml'))
    .action(async (file: string | undefined, options: Options) => end(await routes(fileOf(file, options), options, io)))
}

async function routes(file: string, options: Options, io: Io): Promise<number> {
  const ready = await mustLoad(file, await withVariables(io, options))
  const { bold } = paints(coloured(io.stdout, io.env))
  const rows = [...ready.plan.routes.map(route => row(route, ready)), ...HEALTH]
  if (options.json) {
    print(io.stdout, JSON.stringify(rows.map(asObject), undefined, 2))
    return EXIT.ok
  }
  io.stdout.write(`${table({ head: HEAD, rows, paint: bold })}\n`)
  return EXIT.ok
}

/** A row without its empty cells. */
function asObject(cells: readonly string[]): Record<string, string> {
  return Object.fromEntries(HEAD.flatMap((name, index) => (cells[index] ? [[name, cells[index]]] : [])))
}

const HEALTH = HEALTH_PATHS.map(path => ['GET', path, 'health', '', '', 'gateway'])

function row(route: Route, ready: Ready): readonly string[] {
  const { method, id, protocol, answer, resource, task, shipped } = route
  const { schema = '', prefixes = {}, also } = ready.config.routes[id] ?? {}
  const behind = Object.keys(prefixes).map(prefix => `/${prefix}`)
  const written = (behind.length === 0 ? '' : `[${behind.join('|')}]`) + id.slice(id.indexOf(' ') + 1)
  const path = also === undefined ? written : `${written}, ${also.path}`
  const own = answer === undefined ? `list: ${resource?.kind.name}` : `answer: ${answer}`
  const serves = protocol?.name ?? (task === undefined ? own : `${task.kind.name} tasks: ${task.action}`)
  return [method, path, serves, models(route, ready), schema, shipped ? 'shipped' : 'your file']
}

/** How many of the declared models (globs count as one) some upstream serves on this route now. */
function models(route: Route, { config }: Ready): string {
  if (route.protocol === undefined) return ''
  if (route.model === undefined && route.resource !== undefined) {
    const holders = route.resolve('')?.groups.flatMap(({ exchanges }) => exchanges.map(one => one.upstream.name)) ?? []
    return `kept by ${holders.length === 0 ? 'no upstream' : holders.join(', ')}`
  }
  if (route.model === undefined && route.task === undefined) return 'no model'
  const names = Object.keys(config.models)
  return `${names.filter(name => route.resolve(sampleName(name)) !== undefined).length} of ${names.length}`
}
