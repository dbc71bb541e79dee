import { Argument } from 'commander'
import { type Define, example } from './command.js'
import type { Shell } from './completion-scripts.js'
import { EXIT } from './io.js'

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish']

/** `gateway completion`: a script that completes commands, options and their values. */
export const completionCommand: Define = (parent, io, end) => {
  parent
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(SHELLS))
    .addHelpText('after', example('gateway completion bash > ~/.local/share/bash-completion/completions/gateway'))
    .action(async (shell: Shell) => {
      const [{ commandTree }, { COMPLETION_SCRIPTS }] = await Promise.all([
        import('./command-tree.js'),
        import('./completion-scripts.js'),
      ])
      io.stdout.write(COMPLETION_SCRIPTS[shell](commandTree(parent)))
      end(EXIT.ok)
    })
}
