import { resolve } from 'node:path'
import { type Define, example, list, port } from './command.js'
import { serve } from './serve.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'

interface Options extends SourceOptions {
  readonly into: string
  readonly model?: readonly string[]
  readonly key?: readonly string[]
  readonly route?: readonly string[]
  readonly port?: number
}

/** `gateway record`: serves, and writes the exchanges with upstreams to files that an upstream with `recordings` plays. */
export const recordCommand: Define = (parent, io, end) => {
  takesSource(parent.command('record'))
    .description('serve a configuration and record the exchanges with its upstreams, without secrets')
    .argument('[file]', FILE_WORDS)
    .requiredOption('--into <folder>', 'where recordings are written, a file for each exchange')
    .option('--model <names>', 'only these models, by the names or globs of clients, separated by commas', list)
    .option('--key <names>', 'only requests of these keys, separated by commas', list)
    .option('--route <names>', 'only these routes, such as chat, separated by commas', list)
    .option('--port <number>', 'port to listen on, instead of the one in the file; 0 picks a free one', port)
    .addHelpText('after', example('gateway record --model sim-text --into recordings'))
    .action(async (file: string | undefined, options: Options) => {
      const { into, model, key, route, port: own } = options
      const record = {
        into: resolve(into),
        ...(model === undefined ? {} : { models: model }),
        ...(key === undefined ? {} : { keys: key }),
        ...(route === undefined ? {} : { routes: route }),
      }
      const serving = { ...options, ...(own === undefined ? {} : { port: own }), watch: true, record }
      end(await serve(fileOf(file, options), serving, await withVariables(io, options)))
    })
}
