import type { Plan } from '../../../core/plan.js'
import { type TaskKind, type TaskRecordForm, undeclaredKind } from '../../../core/task-kind.js'
import type { Face } from './face.js'
import { imageFace } from './image.js'
import { objectFace } from './object.js'

const FORMS: Readonly<Record<TaskRecordForm, (kind: TaskKind) => Face>> = {
  object: objectFace,
  'image-tasks': imageFace,
}

const FACES = new WeakMap<TaskKind, Face>()

export function faceOf(kind: TaskKind): Face {
  const known = FACES.get(kind)
  if (known !== undefined) return known
  const face = FORMS[kind.record](kind)
  FACES.set(kind, face)
  return face
}

/** How tasks of the kind of that name are seen. */
export function faceNamed({ taskKinds }: Pick<Plan, 'taskKinds'>, name: string): Face {
  return faceOf(taskKinds.get(name) ?? undeclaredKind(name))
}
