//! What bytes cost by themselves.

use haft_bench::bare;

#[test]
fn each_size_has_its_cost() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let costs = bare::costs(&runtime, &[0, 10, 3_000_000]).unwrap();
    assert_eq!(costs.len(), 3);
    assert!(costs.iter().all(|cost| *cost > 0.0), "{costs:?}");
    // Three million bytes are more than ten, on any machine.
    assert!(costs[2] > costs[1], "{costs:?}");
}
