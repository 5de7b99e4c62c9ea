// CommonJS: files that say `require` and `module.exports`.
export default (function (haft) {
  "use strict";
  const { native } = haft;
  const loaded = new Map();
  const folder = (path) => path.slice(0, Math.max(path.lastIndexOf("/"), 1));
  const requireFrom = (from) => {
    const require = (name) => {
      const path = native.resolve(from, String(name));
      return path.startsWith("haft:") ? haft.builtin(path.slice(5)) : load(path);
    };
    require.resolve = (name) => native.resolve(from, String(name));
    require.cache = {};
    require.main = undefined;
    return require;
  };
  const load = (path) => {
    const known = loaded.get(path);
    if (known) return known.exports;
    const [kind, text] = native.source(path);
    const module = { exports: {}, id: path, filename: path, loaded: false, children: [], paths: [] };
    loaded.set(path, module);
    try {
      if (kind === "json") module.exports = JSON.parse(text);
      else if (kind === "text") module.exports = text;
      else if (kind === "commonjs") {
        module.require = requireFrom(path);
        native.compile(path, text).call(module.exports, module.exports, module.require, module, path, folder(path));
      } else throw new SyntaxError(`${path} is an ES module; import it instead of requiring it`);
    } catch (error) {
      loaded.delete(path);
      throw error;
    }
    module.loaded = true;
    return module.exports;
  };
  return { load, requireFrom };
});
