import { createHash } from 'node:crypto'
import { type Define, example, list } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { keyExpiry, keyName } from './key-terms.js'
import { storedKeyCommands } from './stored-keys.js'

interface Options {
  readonly models?: readonly string[]
  readonly expires?: string
  readonly json?: true
}

/** `gateway keys new NAME` makes a key, and prints it once with the YAML that lets its holder in; the others are about the store. */
export const keysCommand: Define = (parent, io, end) => {
  const keys = parent.command('keys').description("create callers' keys, and manage those of the store")
  keys
    .command('new')
    .description('create a key: print it once, with the YAML lines for gateway.yaml (they hold its hash, not the key)')
    .argument('<name>', "name of the key's owner, shown in logs", keyName)
    .option('--models <globs>', 'models that the key may use, separated by commas (default: all)', list)
    .option(
      '--expires <date>',
      'expiry of the key: end of a day in UTC (2030-12-31), or a time (2030-12-31T18:00:00Z)',
      keyExpiry,
    )
    .option('--json', 'print a JSON object: name, key, hash and the entry for `keys`')
    .addHelpText('after', example('gateway keys new team-search --models "swift-*,embed-small" --expires 2030-12-31'))
    .action(async (name: string, options: Options) => end(await newKeyFor(name, options, io)))
  storedKeyCommands(keys, io, end)
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
  print(io.stdout, `${bold(key)}  ${dim('# it is not shown again')}\n`)
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
