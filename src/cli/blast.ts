import { Option } from 'commander'
import type { WithoutSecret } from '../config/context.js'
import { shownFile } from '../config/problems.js'
import type { Config } from '../core/config.js'
import type { Change, Side } from '../plan/difference/difference.js'
import type { Going, Holdings } from '../runtime/holdings.js'
import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { check, checkGiven, givenText, invalid, printProblems } from './loading.js'
import { fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

const ENTRIES = ['key', 'upstream', 'model'] as const
const KINDS = [...ENTRIES, 'secret'] as const
type Kind = (typeof KINDS)[number]

interface Options extends SourceOptions {
  readonly kind?: Kind
  readonly store?: true
  readonly format: 'text' | 'json'
}

/** `gateway blast NAME`: what would be refused if a key, an upstream, a model or a secret went. Nothing is changed. */
export const blastCommand: Define = (parent, io, end) => {
  takesSource(parent.command('blast'))
    .description(
      'say what breaks if a key, an upstream, a model or a secret goes; exit codes: 0 nothing, 1 requests would be refused, or the store holds something of it',
    )
    .argument('<name>', 'name of the key, upstream or model; variable or file of the secret')
    .addOption(new Option('--kind <kind>', 'what it is, if several have the name').choices([...KINDS]))
    .option('--store', 'look into the store, too: tasks in flight, files, stored responses, last use')
    .addOption(new Option('--format <format>', 'output format').choices(['text', 'json']).default('text'))
    .addHelpText(
      'after',
      example('gateway blast north --store', 'gateway blast alice --kind key', 'gateway blast NORTH_API_KEY'),
    )
    .action(async (name: string, options: Options) => {
      end(await blast(name, options, await withVariables(io, options)))
    })
}

/** What is left without it, which entries go with it, and for a secret where it is named. */
interface Loss {
  readonly config: Config
  readonly going: Going
  readonly places?: WithoutSecret['places']
}

async function blast(name: string, options: Options, io: Io): Promise<number> {
  const file = fileOf(undefined, options)
  const before = await sideOf(file, io)
  const kind = kindOf(name, before.config, options.kind)
  const loss =
    kind === 'secret' ? await withoutSecret(name, file, before.config, io) : without(before.config, kind, name)
  const [{ differenceOf }, { compileRead }, { CHANGE_FORMATS }] = await Promise.all([
    import('../plan/difference/difference.js'),
    import('../runtime/load.js'),
    import('./planning/formats.js'),
  ])
  const after = { plan: await compileRead(loss.config, 'without', {}), config: loss.config }
  const changes = differenceOf(before, after).filter(change => change.about === 'requests')
  const held = options.store === true ? await heldOf(file, loss.going, io) : undefined
  const found = { going: loss.going, places: loss.places, held }
  if (options.format === 'json') print(io.stdout, jsonOf(CHANGE_FORMATS.json(changes), found))
  else {
    for (const line of linesOf(found)) print(io.stdout, line)
    const nothing = `nothing breaks without the ${kind} ${name}`
    print(io.stdout, changes.length === 0 ? nothing : CHANGE_FORMATS.text(changes, { file }))
  }
  const isHeld = held !== undefined && held.tasks + held.responses + Object.keys(held.resources).length > 0
  return isHeld || changes.some(isRefused) ? EXIT.failed : EXIT.ok
}

async function sideOf(file: string, io: Io): Promise<Side> {
  const { plan, config, problems } = await check(file, io, 'assume')
  if (plan !== undefined && config !== undefined) return { plan, config }
  await printProblems(problems, io.stderr, io)
  throw invalid(file)
}

/** Served before, and not now: `404 model_not_found`. Of whole answers and streams one may be: that has the mark. */
function isRefused({ after, marks }: Change): boolean {
  return marks.includes('unreachable') || /^[45]\d\d /.test(after)
}

/** A name that no entry has is that of a secret. */
function kindOf(name: string, config: Config, wanted: Kind | undefined): Kind {
  if (wanted === 'secret') return wanted
  const found = ENTRIES.filter(kind => Object.hasOwn(config[SECTIONS[kind]], name))
  const [one, other] = wanted === undefined ? found : found.filter(kind => kind === wanted)
  if (one === undefined && wanted === undefined) return 'secret'
  if (one === undefined) throw new CommandError(`no ${wanted} is called ${name}`)
  if (other !== undefined) throw new CommandError(`${name} is a ${one} and a ${other}: give --kind`)
  return one
}

const SECTIONS = { key: 'keys', upstream: 'upstreams', model: 'models' } as const

/** An upstream that goes is off, so that all that names it still compiles. */
function without(config: Config, kind: Exclude<Kind, 'secret'>, name: string): Loss {
  const going = { keys: [], upstreams: [], models: [], [SECTIONS[kind]]: [name] }
  const upstream = config.upstreams[name]
  if (kind === 'upstream' && upstream !== undefined)
    return { config: { ...config, upstreams: { ...config.upstreams, [name]: { ...upstream, off: 'gone' } } }, going }
  return { config: { ...config, [SECTIONS[kind]]: leaving(config[SECTIONS[kind]], [name]) }, going }
}

function leaving<T extends object>(entries: T, names: readonly string[]): T {
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !names.includes(name))) as T
}

/** Reads the file as if the secret were not there. Throws {@link CommandError} where nothing names it. */
async function withoutSecret(name: string, file: string, before: Config, io: Io): Promise<Loss> {
  const secret: WithoutSecret = { name, places: [] }
  const { config, problems } = await checkGiven(file, await givenText(file, io), io, 'assume', {}, secret)
  if (secret.places.length === 0) throw new CommandError(`no key, upstream, model or secret is called ${name}`)
  if (config === undefined) {
    await printProblems(problems, io.stderr, io)
    throw new CommandError(`without ${name} ${file} is not valid`, EXIT.failed)
  }
  const { keys, upstreams } = config
  const going = {
    keys: Object.keys(keys).filter(key => keys[key]?.secrets.length === 0 && before.keys[key]?.secrets.length !== 0),
    upstreams: Object.keys(upstreams).filter(
      one => upstreams[one]?.off !== undefined && before.upstreams[one]?.off === undefined,
    ),
    models: [],
  }
  return { config: { ...config, keys: leaving(keys, going.keys) }, going, places: secret.places }
}

async function heldOf(file: string, going: Going, io: Io): Promise<Holdings> {
  const { plan, config } = await sideOf(file, io)
  const { holdingsOf } = await import('../runtime/holdings.js')
  return await holdingsOf(plan, config, going)
}

interface Found {
  readonly going: Going
  readonly places: Loss['places']
  readonly held: Holdings | undefined
}

function jsonOf(changes: string, { going, places, held }: Found): string {
  const { keys, upstreams } = going
  return JSON.stringify(
    { ...JSON.parse(changes), ...(places && { places, keys, upstreams }), ...(held && { held }) },
    null,
    2,
  )
}

function linesOf({ going, places, held }: Found): readonly string[] {
  return [
    ...(places ?? []).map(
      ({ path, position: { file, line, column } }) => `${shownFile(file)}:${line}:${column}  ${path}`,
    ),
    ...(places === undefined ? [] : goneWith(going)),
    ...(held === undefined ? [] : [heldLine(held)]),
  ]
}

function goneWith({ keys, upstreams }: Going): readonly string[] {
  const named = [...upstreams.map(name => `upstream ${name}`), ...keys.map(name => `key ${name}`)]
  return [named.length === 0 ? 'each of these has another secret' : `goes with it: ${named.join(', ')}`]
}

function heldLine({ tasks, resources, responses, lastUsed, isPart }: Holdings): string {
  const counts = [['tasks in flight', tasks], ...Object.entries(resources), ['responses', responses]] as const
  const held = counts.filter(([, count]) => Number(count) > 0).map(([what, count]) => `${count} ${what}`)
  const used = lastUsed === undefined ? 'the ledger has no request' : `last used ${new Date(lastUsed).toISOString()}`
  return `in the store${isPart ? ', at least' : ''}: ${held.join(', ') || 'nothing'}; ${used}`
}
