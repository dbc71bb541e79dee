import { ownProcess } from '../core/stray-faults.js'
import type { Define } from './command.js'
import { CommandError, EXIT } from './io.js'

/** `gateway work`: one of the processes of `gateway serve --workers`, which starts it. */
export const workCommand: Define = (parent, _io, end) => {
  parent
    .command('work', { hidden: true })
    .description('serve as a worker of another gateway process, which starts it')
    .action(async () => {
      ownProcess()
      const { work } = await import('../runtime/workers/worker.js')
      if (!(await work())) throw new CommandError('workers are started by `gateway serve --workers`', EXIT.usage)
      end(EXIT.ok)
      // Nothing is open any more; the connection to the supervisor alone would keep the process.
      if (process.connected) process.disconnect()
    })
}
