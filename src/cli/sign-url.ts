import { InvalidArgumentError } from 'commander'
import { Glob } from '../core/glob.js'
import type { SignedUrls } from '../core/signed-url.js'
import { signUrl } from '../core/signed-url.js'
import { type Define, duration, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { loadWithSecrets, type Ready } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly key: string
  readonly for?: number
}

/** `gateway sign-url`: an address that needs no key, for a while. */
export const signUrlCommand: Define = (parent, io, end) => {
  takesSource(parent.command('sign-url'))
    .description("print an address that is signed in place of a caller's key (identity.signed_urls)")
    .argument('<url>', 'address to read with GET, query included; ws:// or wss:// is a WebSocket', address)
    .argument('[file]', FILE_WORDS)
    .requiredOption('--key <name>', 'name of the key that the address stands for')
    .option(
      '--for <duration>',
      'how long it is good (default: as long as the file permits)',
      duration('a duration such as 10m', 1000),
    )
    .addHelpText(
      'after',
      example('gateway sign-url https://models.example/v1/videos/task_1/content --key web --for 10m'),
    )
    .action(async (url: URL, file: string | undefined, options: Options) => {
      const ready = await loadWithSecrets(['identity'], fileOf(file, options), await withVariables(io, options))
      print(io.stdout, signed(url, options, ready, io))
      end(EXIT.ok)
    })
}

function signed(url: URL, { key, for: life }: Options, { plan, config }: Ready, io: Io): string {
  const declared = plan.identity?.signedUrls
  if (declared === undefined) throw new CommandError('the file has no identity.signed_urls with a secret', EXIT.failed)
  const { maxAge, secret } = declared
  if (life !== undefined && life > maxAge)
    throw new CommandError('--for is longer than identity.signed_urls.max_age permits')
  checkTaken(url, declared, plan)
  if (config.keys[key] === undefined) {
    print(io.stderr, `no key of the file is called ${key}: it is good if a key of the store has this name`)
  }
  return signUrl(url, { key, secret: secret.reveal(), expires: new Date(Date.now() + (life ?? maxAge)) })
}

/** Throws where no such address is served, or none is taken there. */
function checkTaken({ protocol, pathname }: URL, { routes }: SignedUrls, plan: Ready['plan']): void {
  const method = protocol.startsWith('ws') ? 'WS' : 'GET'
  const { route } = plan.match(method, pathname)
  if (route === undefined) throw new CommandError(`no route serves ${method} ${pathname}`, EXIT.failed)
  if (routes.some(one => new Glob(one).matches(route.id))) return
  throw new CommandError(`${route.id} is not in identity.signed_urls.routes`, EXIT.failed)
}

function address(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && /^(https?|wss?):$/.test(url.protocol) && url.hash === '') return url
  throw new InvalidArgumentError('Expected an address such as https://models.example/v1/files/file-1/content.')
}
