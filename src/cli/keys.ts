import { createHash } from 'node:crypto'
import { InvalidArgumentError } from 'commander'
import { parseMoment } from '../config/units.js'
import { type Define, example, list } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'

interface Options {
  readonly models?: readonly string[]
  readonly expires?: string
  readonly json?: true
}

/** `gateway keys new NAME`: makes a key, prints it once, and prints the YAML that lets its holder in. */
export const keysCommand: Define = (parent, io, end) => {
  const keys = parent.command('keys').description("make callers' keys")
  keys
    .command('new')
    .description('make a key: print it once, with the YAML lines (its hash, never itself) for gateway.yaml')
    .argument('<name>', 'who will hold the key; stands in logs', name)
    .option('--models <globs>', 'models that the key may use, separated by commas (default: all)', list)
    .option(
      '--expires <date>',
      'last day (2030-12-31, until its end in UTC) or moment (2030-12-31T18:00:00Z) of the key',
      date,
    )
    .option('--json', 'print one object: name, key, hash and the entry of `keys`')
    .addHelpText('after', example('gateway keys new team-search --models "swift-*,embed-small" --expires 2030-12-31'))
    .action(async (name: string, options: Options) => end(await newKeyFor(name, options, io)))
}

async function newKeyFor(name: string, options: Options, io: Io): Promise<number> {
  const { newKey } = await import('../runtime/generated-keys.js')
  const { bold, dim } = paints(coloured(io.stdout, io.env))
  const key = newKey().reveal()
  const sha256 = createHash('sha256').update(key).digest('hex')
  if (options.json) {
    const { models, expires } = options
    const hash = `sha256:${sha256}`
    print(io.stdout, JSON.stringify({ name, key, hash, entry: { secret: { hash }, models, expires } }, undefined, 2))
    return EXIT.ok
  }
  print(io.stdout, `${bold(key)}  ${dim('# this is the only time that it is shown')}\n`)
  print(io.stdout, keyLines(name, sha256, options))
  return EXIT.ok
}

/** The entry of the `keys` map. */
function keyLines(name: string, sha256: string, options: Options): string {
  const lines = ['keys:', `  ${plain(name)}:`, `    secret: { hash: "sha256:${sha256}" }`]
  if (options.models !== undefined) lines.push(`    models: [${options.models.map(quoted).join(', ')}]`)
  if (options.expires !== undefined) lines.push(`    expires: ${quoted(options.expires)}`)
  return lines.join('\n')
}

// A JSON string is a YAML string.
function quoted(text: string): string {
  return JSON.stringify(text)
}

function plain(text: string): string {
  const bare = /^[a-z][a-z0-9_-]*$/i.test(text) && !/^(?:null|true|false|yes|no|on|off|y|n)$/i.test(text)
  return bare ? text : quoted(text)
}

function name(text: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('A name is made of letters, digits, dots, underscores and dashes.')
  }
  return text
}

function date(text: string): string {
  const last = parseMoment(text)
  if (last === undefined) throw new InvalidArgumentError('A date is written 2030-12-31 or 2030-12-31T18:00:00Z.')
  if (last <= Date.now()) throw new InvalidArgumentError('The key would have expired already.')
  return text
}
