import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../core/folders.js'
import { type Define, example, version } from './command.js'
import { CommandError, EXIT } from './io.js'

/** `gateway man`: pages for man(1), of the program and of each command. */
export const manCommand: Define = (parent, io, end) => {
  parent
    .command('man')
    .description('print the man page of the program or of a command')
    .argument('[command...]', 'words of the command, such as keys list')
    .option('--into <folder>', 'write the pages of all commands into a folder instead')
    .addHelpText('after', example('gateway man serve | man -l -', 'gateway man --into ~/.local/share/man/man1'))
    .action(async (words: readonly string[], { into }: { readonly into?: string }) => {
      const [{ commandTree, withCommandsBelow }, { manPage, pageName }] = await Promise.all([
        import('./command-tree.js'),
        import('./man-page.js'),
      ])
      const nodes = withCommandsBelow(commandTree(parent))
      if (into === undefined) {
        const node = nodes.find(({ path }) => path.join(' ') === words.join(' '))
        if (node === undefined) throw new CommandError(`there is no command "gateway ${words.join(' ')}"`)
        io.stdout.write(manPage(node, version()))
      } else {
        await makeFolder(into)
        for (const node of nodes) await writeFile(join(into, pageName(node)), manPage(node, version()))
      }
      end(EXIT.ok)
    })
}
