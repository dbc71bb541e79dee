import type { Problem } from '../../core/problems.js'
import { AdminError, type AdminRoute, COUNT, objectOf, TEXT } from '../route.js'

/** Most problems in one answer. */
const MAX_PROBLEMS = 100

export const reload: AdminRoute = {
  method: 'POST',
  path: '/admin/reload',
  summary: 'Reads the files again. 422: they have errors, and nothing has changed.',
  status: 200,
  answer: objectOf({ generation: COUNT, warnings: { type: 'array', items: TEXT } }, ['generation']),
  async handle(_request, host) {
    const { isValid, problems } = await host.reload()
    const found = problems.slice(0, MAX_PROBLEMS).map(sentence)
    if (!isValid) {
      throw new AdminError(422, 'invalid_configuration', 'the files have errors; the last valid ones stay', {
        problems: found,
      })
    }
    return { generation: host.kernel.generation.number, warnings: found }
  },
}

function sentence({ position: { file, line, column }, path, message }: Problem): string {
  return `${file}:${line}:${column} ${path} ${message}`
}
