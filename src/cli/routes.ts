import { HEALTH_PATHS } from '../core/health-paths.js'
import type { Route } from '../core/plan.js'
import { DEFAULT_FILE, type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints } from './io.js'
import { mustLoad, type Ready } from './loading.js'
import { table } from './table.js'

const HEAD = ['method', 'path', 'serves', 'models', 'schema', 'from']

/** `gateway routes`: one line for each route that the file serves, the health routes included. */
export const routesCommand: Define = (parent, io, end) => {
  parent
    .command('routes')
    .description('list the routes that a configuration serves')
    .argument('[file]', 'configuration file', DEFAULT_FILE)
    .addHelpText('after', example('gateway routes gateway.yaml'))
    .action(async (file: string) => end(await routes(file, io)))
}

async function routes(file: string, io: Io): Promise<number> {
  const ready = await mustLoad(file, io)
  const { bold } = paints(coloured(io.stdout, io.env))
  const rows = [...ready.plan.routes.map(route => row(route, ready)), ...HEALTH]
  io.stdout.write(`${table({ head: HEAD, rows, paint: bold })}\n`)
  return EXIT.ok
}

const HEALTH = HEALTH_PATHS.map(path => ['GET', path, 'health', '', '', 'gateway'])

function row(route: Route, ready: Ready): readonly string[] {
  const { method, id, protocol, answer, holding, task, shipped } = route
  const { schema = '', prefixes = {}, also } = ready.config.routes[id] ?? {}
  const behind = Object.keys(prefixes).map(prefix => `/${prefix}`)
  const written = (behind.length === 0 ? '' : `[${behind.join('|')}]`) + id.slice(id.indexOf(' ') + 1)
  const path = also === undefined ? written : `${written}, ${also.path}`
  const own = answer === undefined ? `lists: ${holding?.kind.name}` : `answer: ${answer}`
  const serves = protocol?.name ?? (task === undefined ? own : `${task.kind} tasks: ${task.action}`)
  return [method, path, serves, models(route, ready), schema, shipped ? 'shipped' : 'your file']
}

/** How many of the declared models (globs count as one) some upstream serves on this route now. */
function models(route: Route, { config }: Ready): string {
  if (route.protocol === undefined) return ''
  if (route.model === undefined && route.holding !== undefined) {
    const holders = route.resolve('')?.groups.flatMap(({ exchanges }) => exchanges.map(one => one.upstream.name)) ?? []
    return `held by ${holders.length === 0 ? 'nobody' : holders.join(', ')}`
  }
  if (route.model === undefined && route.task === undefined) return 'no model'
  const names = Object.keys(config.models)
  return `${names.filter(name => route.resolve(sample(name)) !== undefined).length} of ${names.length}`
}

/** A name that the pattern matches. */
export function sample(pattern: string): string {
  return pattern.replaceAll('*', 'x')
}
