import type { TaskKind } from '../../../core/task.js'
import type { Face } from './face.js'
import { video } from './video.js'

const FACES: Readonly<Record<TaskKind, Face>> = { video }

export function faceOf(kind: TaskKind): Face {
  return FACES[kind]
}
