import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { InvalidArgumentError } from 'commander'
import type { Caller, Refusal } from '../core/caller.js'
import { isObject, parseJson } from '../core/json.js'
import type { Overrides } from '../runtime/load.js'
import { adminApiOf } from './admin-api.js'
import { type Define, example } from './command.js'
import { generationNumber } from './generations.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { type Given, givenText, loadWithSecrets, mustLoad, type Ready, STANDARD_INPUT } from './loading.js'
import { readAll } from './read-all.js'
import { servedDocuments } from './served-documents.js'
import { fileOf, type SourceOptions, takesAddress, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly model?: string
  readonly key?: string
  readonly claims?: string
  readonly stream?: boolean
  readonly body?: string
  readonly json?: boolean
  readonly expect?: number
  readonly at?: number
  readonly admin?: string
}

/** A body larger than this is not one to explain. */
const MAX_BODY_BYTES = 32 * 1024 * 1024

/** `gateway explain`: the plan, or what would become of one request. Nothing is sent. */
export const explainCommand: Define = (parent, io, end) => {
  takesAddress(takesSource(parent.command('explain')))
    .description(
      'print the plan, or with METHOD and PATH what happens to such a request (nothing is sent); exit codes: 0 accepted, 1 refused',
    )
    .argument('[method]', 'method of a request; a single argument is the file')
    .argument('[path]', 'path of a request')
    .option('--model <name>', 'model of the request, if no --body is given')
    .option('--key <name>', "name of the caller's key in the file or the store, never the key itself")
    .option('--claims <file>', "JSON file with the claims of a token, in place of --key: its holder's request")
    .option('--stream', 'ask for a stream, if no --body is given')
    .option('--body <file>', 'body of the request; "-" reads standard input')
    .option('--expect <status>', 'expected status (200: accepted); exit code 0 if it matches', status)
    .option('--at <generation>', 'what the file of the running gateway said at that generation', generationNumber)
    .option('--admin <origin>', 'with --at: where its admin API is, instead of the address in the file')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      example('gateway explain', 'gateway explain POST /v1/chat/completions --model sim-text --key local --stream'),
    )
    .action(async (method: string | undefined, path: string | undefined, options: Options) => {
      end(await explain(method, path, options, io))
    })
}

async function explain(first: string | undefined, path: string | undefined, options: Options, io: Io): Promise<number> {
  const alone = path === undefined && first !== undefined ? aloneFile(first) : undefined
  const file = fileOf(alone, options)
  if (file === STANDARD_INPUT && options.body === STANDARD_INPUT) {
    throw new CommandError('standard input can be the file or the body, not both')
  }
  const from = await withVariables(io, options)
  const given = await (options.at === undefined ? givenText(file, from) : givenAt(options.at, file, options, from))
  const loaded = await mustLoad(file, from, {}, given)
  const { plan, config, caller } =
    options.claims === undefined
      ? await withStoredKey(loaded, options.key, io, overrides =>
          loadWithSecrets(['store'], file, from, overrides, given),
        )
      : await withClaims(loaded, options.claims, io)
  const { explainPlan, explainRequest, planFacts, requestFacts } = await import('../plan/explain.js')
  if (first === undefined || path === undefined) {
    io.stdout.write(options.json ? document(planFacts(plan, config)) : explainPlan(plan, config))
    return EXIT.ok
  }
  const { model, stream } = options
  const key = options.claims === undefined || caller === undefined || 'refused' in caller ? options.key : caller.name
  const body = options.body === undefined ? undefined : await readBody(options.body, io)
  const request = { method: first.toUpperCase(), path, model, key, caller, stream, body }
  const facts = requestFacts(plan, request)
  io.stdout.write(options.json ? document(facts) : explainRequest(plan, request))
  const status = facts.error?.status ?? SERVED_STATUS
  const { expect = SERVED_STATUS } = options
  if (status === expect) return EXIT.ok
  if (options.expect !== undefined) print(io.stderr, `expected ${expect}, but the request would be ${outcome(status)}`)
  return EXIT.failed
}

/** What the files of a running gateway said at that generation, with the variables of now. */
async function givenAt(generation: number, file: string, { admin, body }: Options, io: Io): Promise<Given> {
  if (file === STANDARD_INPUT || body === STANDARD_INPUT)
    throw new CommandError('with --at nothing can come through standard input')
  return servedDocuments(await adminApiOf(file, admin, io), file, generation)
}

interface Asked extends Ready {
  /** Who asks, where the key is one of the store. */
  readonly caller?: Caller | Refusal
}

/** The caller by the claims of a token, as if it had been checked. */
async function withClaims(loaded: Ready, file: string, io: Io): Promise<Asked> {
  const claims = parseJson((await readBody(file, io)).toString('utf8'))
  if (!isObject(claims)) throw new CommandError(`${file} is not a JSON object of claims`)
  const { callerByClaims } = await import('../runtime/identity-callers.js')
  const found = callerByClaims(claims, loaded.plan)
  if ('fault' in found) throw new CommandError(`a token with these claims is refused: ${found.fault}`)
  return { ...loaded, caller: found.caller }
}

/**
 * Looks for a key in the store that the file does not have. Keys in the memory of a gateway are out of reach. `again`: loads
 * the same with the secrets of the store.
 */
async function withStoredKey(
  loaded: Ready,
  key: string | undefined,
  io: Io,
  again: (overrides: Overrides) => Promise<Ready>,
): Promise<Asked> {
  const { plan } = loaded
  if (key === undefined || !('refused' in plan.keys.find(key, Date.now())) || loaded.config.keys[key] !== undefined)
    return loaded
  if (plan.store.type === 'memory') {
    print(
      io.stderr,
      'keys that were made while the gateway runs are in its memory, and are not shown here: ask the admin API',
    )
    return loaded
  }
  const [{ faultsOf, holderOf, openStoredKeys }, { admit }] = await Promise.all([
    import('../runtime/store-keys.js'),
    import('../plan/keys.js'),
  ])
  const { keys, store } = await openStoredKeys(plan.store.absent === undefined ? plan : (await again({})).plan)
  try {
    const found = await keys.find(key)
    if (found === undefined) return loaded
    const counting = holderOf(found, plan) === undefined ? await again({ counted: true }) : loaded
    const holder = holderOf(found, counting.plan)
    if (holder === undefined) {
      const faults = faultsOf(key, found.terms, plan).join('; ')
      print(io.stderr, `the key ${key} of the store is refused, because its terms do not fit this file: ${faults}`)
    }
    return { ...counting, ...(holder === undefined ? {} : { caller: admit(holder, Date.now()) }) }
  } finally {
    await store.close()
  }
}

/** The assumed status of a request that the gateway does not refuse; the upstream's real status is unknown. */
const SERVED_STATUS = 200

function outcome(status: number): string {
  return status === SERVED_STATUS ? 'served' : `refused with ${status}`
}

function status(text: string): number {
  if (!/^[1-5]\d\d$/.test(text)) throw new InvalidArgumentError('A status is a number such as 200 or 404.')
  return Number(text)
}

function document(facts: object): string {
  return `${JSON.stringify(facts, undefined, 2)}\n`
}

/** One argument alone is a file, as with the other commands, unless it reads as a method without a path, or as a path without a method. */
function aloneFile(argument: string): string {
  const isPath = argument.startsWith('/') && !existsSync(argument)
  if (isPath || /^[A-Za-z]+$/.test(argument)) throw new CommandError('give a method and a path, as in GET /v1/models')
  return argument
}

async function readBody(from: string, io: Io): Promise<Buffer> {
  try {
    const source = from === '-' ? io.stdin : [await readFile(from)]
    return await readAll(source, MAX_BODY_BYTES, `the body is larger than ${MAX_BODY_BYTES} bytes`)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(`${from} cannot be read (${error instanceof Error && 'code' in error ? error.code : error})`)
  }
}
