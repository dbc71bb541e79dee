import type { Problem } from '../../core/problems.js'
import { fileName } from './told.js'

/** One JSON document: `{ valid, problems }`, the problems as {@link Problem} describes them. */
export function json(problems: readonly Problem[]): string {
  const valid = problems.every(problem => problem.severity !== 'error')
  const told = problems.map(problem => ({
    ...problem,
    position: { ...problem.position, file: fileName(problem.position.file) },
  }))
  return JSON.stringify({ valid, problems: told }, undefined, 2)
}
