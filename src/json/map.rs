//! Objects: members in the order in which they were written.

use indexmap::IndexMap;

use super::Value;

/// The members of an object, in order. Each key occurs once.
///
/// ```
/// let mut map = toolglot::json::Map::new();
/// map.insert("b".into(), "1".into());
/// map.insert("a".into(), "2".into());
/// assert_eq!(map.keys().collect::<Vec<_>>(), ["b", "a"]); // in order
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(IndexMap<String, Value>);

impl Map {
    /// An empty object.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key, mutably.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.get_mut(key)
    }

    /// Whether a key exists.
    #[must_use]
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Appends a member, or replaces the value of an existing key and returns the old one.
    pub fn insert(&mut self, key: String, value: Value) -> Option<Value> {
        self.0.insert(key, value)
    }

    /// Returns the value of a key, which is inserted if missing.
    pub fn or_insert(&mut self, key: &str, new: impl FnOnce() -> Value) -> &mut Value {
        self.0.entry(key.to_owned()).or_insert_with(new)
    }

    /// Removes a member; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    /// Keeps only the members for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.0.retain(|key, value| keep(key, value));
    }

    /// The members, in order.
    pub fn iter(&self) -> indexmap::map::Iter<'_, String, Value> {
        self.0.iter()
    }

    /// The members, in order, with mutable values.
    pub fn iter_mut(&mut self) -> indexmap::map::IterMut<'_, String, Value> {
        self.0.iter_mut()
    }

    /// The keys, in order.
    pub fn keys(&self) -> indexmap::map::Keys<'_, String, Value> {
        self.0.keys()
    }

    /// The values, in order.
    pub fn values(&self) -> indexmap::map::Values<'_, String, Value> {
        self.0.values()
    }

    /// The values, in order, mutably.
    pub fn values_mut(&mut self) -> indexmap::map::ValuesMut<'_, String, Value> {
        self.0.values_mut()
    }
}

impl FromIterator<(String, Value)> for Map {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(members: T) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Extend<(String, Value)> for Map {
    fn extend<T: IntoIterator<Item = (String, Value)>>(&mut self, members: T) {
        self.0.extend(members);
    }
}

impl IntoIterator for Map {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'m> IntoIterator for &'m Map {
    type Item = (&'m String, &'m Value);
    type IntoIter = indexmap::map::Iter<'m, String, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'m> IntoIterator for &'m mut Map {
    type Item = (&'m String, &'m mut Value);
    type IntoIter = indexmap::map::IterMut<'m, String, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl std::ops::Index<&str> for Map {
    type Output = Value;
    fn index(&self, key: &str) -> &Value {
        &self.0[key]
    }
}
