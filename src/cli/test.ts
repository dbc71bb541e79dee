import { type Define, example } from './command.js'

/** `gateway test`: contract tests of a configuration, offline. */
export const testCommand: Define = (parent, io, end) => {
  parent
    .command('test')
    .description('run tests of a configuration against scripted upstreams, offline; prints TAP')
    .argument('[files...]', 'files of tests (default: *.test.yaml here and in tests/)')
    .addHelpText('after', example('gateway test', 'gateway test team.test.yaml'))
    .action(async (files: readonly string[]) => {
      const { runFiles } = await import('./testing/run-files.js')
      end(await runFiles(files, io))
    })
}
