import type { Command } from 'commander'
import { parseDuration, parseMoment } from '../config/units.js'
import type { KeyConfig } from '../core/config.js'
import type { Json } from '../core/json.js'
import type { Store } from '../core/store.js'
import type { KeyTerms, StoredKey } from '../features/keys/record.js'
import type { KeyCursor, NewKey, StoredKeys } from '../features/keys/stored-keys.js'
import { example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { keyName, type TermOptions, takesLimits, takesTerms, termsOf } from './key-terms.js'
import { loadWithSecrets, type Ready } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { table } from './table.js'

interface Options extends SourceOptions, TermOptions {
  readonly json?: true
  readonly keep?: string
  readonly limit?: number
}

/** Keys that are read at a time. */
const PAGE_KEYS = 500

type Work = (keys: StoredKeys, ready: Ready, options: Options, io: Io) => Promise<number>

/** `gateway keys create|list|revoke|rotate|limit`: the keys in the store of a configuration, whether the gateway runs or not. */
export function storedKeyCommands(keys: Command, io: Io, end: (code: number) => void): void {
  const define = (name: string, description: string, work: (name: string) => Work): Command =>
    takesSource(keys.command(name).description(description))
      .option('--json', 'print JSON')
      .argument('<name>', "name of the key's owner", keyName)
      .argument('[file]', FILE_WORDS)
      .action(async (key: string, file: string | undefined, options: Options) =>
        end(await withKeys(file, options, io, work(key))),
      )
  takesLimits(
    takesTerms(define('create', 'create a key in the store: it works within a second, in every process', create)),
  ).addHelpText(
    'after',
    example('gateway keys create team-search --models "swift-*" --requests 10/s --budget "5 USD/day"'),
  )
  define('revoke', 'remove a key from the store: it is refused within a second, in every process', revoke)
  define('rotate', 'give a key of the store a new secret', rotate).option(
    '--keep <duration>',
    'how long the former secret still works, such as 1h (default: not at all)',
  )
  takesLimits(define('limit', 'set limits of a key in the store; those that are not named stay', limit)).addHelpText(
    'after',
    example('gateway keys limit team-search --requests 20/s', 'gateway keys limit team-search --budget none'),
  )
  takesSource(keys.command('list').description('list the keys of the file and of the store'))
    .option('--json', 'print JSON, one key a line')
    .argument('[file]', FILE_WORDS)
    .action(async (file: string | undefined, options: Options) => end(await withKeys(file, options, io, list)))
}

function create(name: string): Work {
  return async (keys, ready, options, io) => {
    const terms = termsOf(options)
    await mustFit(name, terms, ready)
    const made = await keys.create(name, terms)
    if (made === undefined)
      throw new CommandError(`the store has a key ${name}; revoke it first, or rotate it`, EXIT.failed)
    warnOfName(name, ready, io)
    await warnOfTerms(made.key, ready, io)
    return show(made, options, io)
  }
}

function revoke(name: string): Work {
  return async (keys, ready, options, io) => {
    if (!(await keys.revoke(name))) throw unknown(name, ready)
    print(io.stdout, options.json ? JSON.stringify({ name, revoked: true }) : `${name} is revoked`)
    return EXIT.ok
  }
}

function rotate(name: string): Work {
  return async (keys, ready, options, io) => {
    const keep = options.keep === undefined ? 0 : parseDuration(options.keep)
    if (keep === undefined) throw new CommandError('--keep: write a duration such as 10m or 1h')
    const made = await keys.rotate(name, keep)
    if (made === undefined) throw unknown(name, ready)
    if (made === 'full') throw new CommandError(FULL, EXIT.failed)
    warnOfName(name, ready, io)
    return show(made, options, io)
  }
}

const FULL =
  'the key has as many valid secrets as it may have: wait until one ends, or rotate without --keep, which ends them all'

function limit(name: string): Work {
  return async (keys, ready, options, io) => {
    const { limits = {} } = termsOf(options) as { limits?: Readonly<Record<string, Json>> }
    const before = await keys.find(name)
    if (before === undefined) throw unknown(name, ready)
    const next = (terms: KeyTerms): KeyTerms => {
      const all = { ...(terms.limits as object), ...limits } as Record<string, Json>
      const set = Object.entries(all).filter(([, value]) => value !== 'none')
      return { ...terms, limits: Object.fromEntries(set) }
    }
    await mustFit(name, next(before.terms), ready)
    const key = await keys.change(name, next)
    if (key === undefined) throw unknown(name, ready)
    warnOfName(name, ready, io)
    await warnOfTerms(key, ready, io)
    if (options.json) print(io.stdout, JSON.stringify(await shown(key, ready)))
    else print(io.stdout, `${name}: ${JSON.stringify(key.terms.limits)}`)
    return EXIT.ok
  }
}

const list: Work = async (keys, ready, options, io) => {
  const rows: string[][] = []
  const add = (key: object, row: string[]): void => {
    if (options.json) print(io.stdout, JSON.stringify(key))
    else rows.push(row)
  }
  for (const [name, key] of Object.entries(ready.config.keys)) {
    const state = fileState(key)
    const limits = key.limits === undefined ? '' : 'as in the file'
    add({ name, source: 'file', models: key.models, group: key.group, state }, [
      ...[name, 'file', key.group ?? '', key.models.join(','), limits, state],
    ])
  }
  let after: KeyCursor | undefined
  for (;;) {
    const page = await keys.list(PAGE_KEYS, after)
    for (const key of page) {
      const all = await shown(key, ready)
      const { models = ['*'], limits, group = '' } = key.terms
      add(all, [
        key.name,
        'store',
        String(group),
        String(models),
        limits === undefined ? '' : JSON.stringify(limits),
        all.state,
      ])
    }
    after = page.at(-1)
    if (page.length < PAGE_KEYS) break
  }
  if (options.json) return EXIT.ok
  const { bold } = paints(coloured(io.stdout, io.env))
  print(io.stdout, table({ head: ['name', 'from', 'group', 'models', 'limits', 'state'], rows, paint: bold }))
  return EXIT.ok
}

function fileState({ disabled, expires, secrets, absent }: KeyConfig): string {
  if (disabled) return 'disabled'
  if (expires !== undefined && expires <= Date.now()) return 'expired'
  return secrets.length === 0 ? (absent ?? 'no secret') : 'active'
}

async function shown(key: StoredKey, { plan }: Ready): Promise<KeyTerms & { readonly state: string }> {
  const created = new Date(key.created).toISOString()
  return { name: key.name, source: 'store', created, ...key.terms, state: await storedState(key, plan) }
}

async function storedState({ name, terms }: StoredKey, plan: Ready['plan']): Promise<string> {
  if (plan.keys.has(name)) return 'refused: the file has a key of that name'
  const { faultsOf } = await import('../runtime/store-keys.js')
  const [fault] = faultsOf(name, terms, plan)
  if (fault !== undefined) return `unfit: ${fault}`
  if (terms.disabled === true) return 'disabled'
  const expires = typeof terms.expires === 'string' ? parseMoment(terms.expires) : undefined
  return expires !== undefined && expires <= Date.now() ? 'expired' : 'active'
}

function show({ key, secret }: NewKey, options: Options, io: Io): number {
  const { bold, dim } = paints(coloured(io.stdout, io.env))
  const { name, terms } = key
  if (options.json) print(io.stdout, JSON.stringify({ name, key: secret.reveal(), ...terms }, undefined, 2))
  else print(io.stdout, `${bold(secret.reveal())}  ${dim('# it is not shown again')}`)
  return EXIT.ok
}

/** The same rules as those of the file. */
async function mustFit(name: string, terms: KeyTerms, ready: Ready): Promise<void> {
  const { faultsOf } = await import('../runtime/store-keys.js')
  const [fault] = faultsOf(name, terms, ready.plan)
  if (fault !== undefined) throw new CommandError(fault)
}

function warnOfName(name: string, { plan }: Ready, io: Io): void {
  if (plan.keys.has(name)) warn(`the file has a key ${name}, which wins: the one of the store is refused`, io)
}

/** What the lints of the file say of such terms. */
async function warnOfTerms({ name, terms }: StoredKey, { plan, config }: Ready, io: Io): Promise<void> {
  const { warningsOf } = await import('../runtime/store-keys.js')
  for (const warning of warningsOf(name, terms, plan, config)) warn(warning, io)
}

function warn(message: string, io: Io): void {
  const { yellow } = paints(coloured(io.stderr, io.env))
  print(io.stderr, `${yellow('warning:')} ${message}`)
}

function unknown(name: string, { plan }: Ready): CommandError {
  const where = plan.keys.has(name) ? '; the one of that name is in the file' : ''
  return new CommandError(`the store has no key ${name}${where}`, EXIT.failed)
}

async function withKeys(file: string | undefined, options: Options, io: Io, work: Work): Promise<number> {
  // Keys of the store may have limits: then the gateway counts, and knows prices.
  const from = await withVariables(io, options)
  const ready = await loadWithSecrets(['store'], fileOf(file, options), from, { counted: true })
  const { openStoredKeys } = await import('../runtime/store-keys.js')
  let store: Store | undefined
  try {
    const opened = await openStoredKeys(ready.plan)
    store = opened.store
    return await work(opened.keys, ready, options, io)
  } finally {
    await store?.close()
  }
}
