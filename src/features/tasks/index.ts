import type { Source } from '../../kernel/relay/relay.js'
import type { Feature } from '../../kernel/stages.js'
import { AwaitedRelay } from './awaited-relay.js'
import { MEMBERS } from './members.js'
import { serverOf } from './serve.js'
import { sourceOf, submit } from './submit.js'
import { TASKS, Tasks } from './tasks.js'

/** Tasks: work that continues after its request has been answered. */
export const tasks: Feature = {
  name: 'tasks',
  open(kernel) {
    const service = new Tasks(kernel)
    kernel.provide(TASKS, service)
    return { adopt: () => service.adopt() }
  },
  compile({ route }) {
    const task = route?.task
    if (route === undefined) return undefined
    if (task === undefined) return route.awaits ? { name: 'tasks', relay: awaitedRelay } : undefined
    if (task.action !== 'submit') {
      const serve = serverOf(task.action)
      return { name: 'tasks', serve: call => serve(call, route, task) }
    }
    return {
      name: 'tasks',
      onMembers: (call, member) => call.set(MEMBERS, member),
      source: call => sourceOf(call, route, task),
      serve: (call, candidates, body) => submit(call, route, task, candidates, body),
    }
  },
}

/** For upstreams that answer a plain request with work that they have only begun. */
function awaitedRelay(source: Source, _status: number, headers: string[]): AwaitedRelay | undefined {
  const { awaited } = source.exchange
  return awaited && new AwaitedRelay(source, headers, awaited)
}
