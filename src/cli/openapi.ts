import { type Define, example } from './command.js'
import { CommandError, EXIT, type Io, print } from './io.js'
import { check, invalid, printProblems } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly key: string
}

/** `gateway openapi`: what a key may do, as `GET /v1/openapi.json` answers it. */
export const openapiCommand: Define = (parent, io, end) => {
  takesSource(parent.command('openapi'))
    .description('print what a key may do as an OpenAPI document, as GET /v1/openapi.json answers it')
    .argument('[file]', FILE_WORDS)
    .requiredOption('--key <name>', 'name of a key of the file')
    .addHelpText('after', example('gateway openapi --key local > openapi.json'))
    .action(async (file: string | undefined, options: Options) => {
      end(await openApi(fileOf(file, options), options, await withVariables(io, options)))
    })
}

async function openApi(file: string, { key }: Options, io: Io): Promise<number> {
  const { plan, config, problems } = await check(file, io, 'assume')
  if (plan === undefined || config === undefined) {
    await printProblems(problems, io.stderr, io)
    throw invalid(file)
  }
  const caller = plan.keys.named(key, Date.now())
  if (caller === undefined) {
    const { suggest } = await import('../config/suggest.js')
    const meant = suggest(key, Object.keys(config.keys))
    throw new CommandError(
      `the file has no key ${JSON.stringify(key)}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    )
  }
  if ('refused' in caller)
    throw new CommandError(`the key ${JSON.stringify(key)} is ${caller.refused}: it may do nothing`, EXIT.failed)
  const { passportOf } = await import('../features/passport/document.js')
  print(io.stdout, JSON.stringify(passportOf(plan, caller), undefined, 2))
  return EXIT.ok
}
