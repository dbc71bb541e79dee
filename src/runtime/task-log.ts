import { TASKS } from '../features/tasks/tasks.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Log } from '../sinks/log.js'

/** A log line for each change of a task, and for each notification of its end. */
export function logTasks(kernel: Kernel, log: Log): void {
  const tasks = kernel.need(TASKS)
  tasks.onChange = change => log[change.to === 'failed' ? 'warn' : 'info'](change, 'task changed')
  tasks.onOtherCredential = first => {
    log.warn(first, 'tasks continue with another credential than the one that started them')
  }
  tasks.hooks.onAttempt = ({ outcome, ...attempt }) => {
    log[outcome === 'taken' ? 'info' : 'warn'](attempt, `notification ${outcome}`)
  }
}
