import type { Feature } from '../../kernel/stages.js'
import { serverOf } from './serve.js'
import { sourceOf, submit } from './submit.js'

/** Tasks: work that continues after its request has been answered. */
export const tasks: Feature = {
  name: 'tasks',
  compile({ route }) {
    const task = route?.task
    if (route === undefined || task === undefined) return undefined
    if (task.action !== 'submit') {
      const serve = serverOf(task.action)
      return { name: 'tasks', serve: call => serve(call, route, task) }
    }
    return {
      name: 'tasks',
      source: call => sourceOf(call, route, task),
      serve: (call, candidates, body) => submit(call, route, task, candidates, body),
    }
  },
}
