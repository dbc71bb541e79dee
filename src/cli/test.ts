import { Option } from 'commander'
import { type Define, example } from './command.js'
import { TEST_FORMATS, type TestFormat } from './testing/reports.js'

interface Options {
  readonly format: TestFormat
  readonly update?: boolean
  readonly watch?: boolean
}

/** `gateway test`: contract tests of a configuration, offline. */
export const testCommand: Define = (parent, io, end) => {
  parent
    .command('test')
    .description('run tests of a configuration against scripted upstreams, offline')
    .argument('[files...]', 'files of tests (default: *.test.yaml here and in tests/)')
    .addOption(new Option('--format <format>', 'how results are written').choices(TEST_FORMATS).default('tap'))
    .option('--update', 'write the snapshots anew')
    .option('--watch', 'run again after each change of the tests or the configuration')
    .addHelpText('after', example('gateway test', 'gateway test team.test.yaml --format junit'))
    .action(async (files: readonly string[], { format, update = false, watch = false }: Options) => {
      const { runFiles } = await import('./testing/run-files.js')
      end(await runFiles(files, { format, update, watch }, io))
    })
}
