import { type Define, example } from './command.js'

/** `gateway import`: translates the configuration of another gateway. */
export const importCommand: Define = (parent, io, end) => {
  parent
    .command('import')
    .description("translate another gateway's configuration; YAML on standard output, findings on standard error")
    .argument('<gateway>', 'whose file it is; docs/import.md lists them')
    .argument('<file>', 'YAML or JSON; "-" reads standard input')
    .option('--model <name>', 'name of the model, if the file has none', '*')
    .addHelpText('after', example('gateway import litellm config.yaml > gateway.yaml'))
    .action(async (from: string, file: string, { model }: { model: string }) => {
      const { importFile } = await import('./import/command.js')
      end(await importFile(from, file, model, io))
    })
}
