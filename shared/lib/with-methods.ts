/** Returns a port with some methods of its own. The port may itself be a proxy, whose methods no spread would show. */
export function withMethods<Port extends object>(port: Port, own: Partial<Port>): Port {
  return new Proxy(port, {
    get: (target, name, receiver): unknown =>
      Object.hasOwn(own, name) ? Reflect.get(own, name) : Reflect.get(target, name, receiver),
  });
}
